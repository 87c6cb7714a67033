// Package sandbox runs commands for agents. It is the only backend package
// that starts processes.
//
// It owns two things: the Plan, which is what a person is asked about and what
// an approval is bound to, and the Runner, which carries a plan out.
//
// It promises:
//
//   - What was approved is what runs. Run resolves the plan again and refuses
//     with PlanChangedError when anything differs. Files that the command would
//     execute (a script given to an interpreter, a program outside the system
//     folders) are read once, checked against the plan and run from a private
//     copy, so that replacing them afterwards changes nothing. Other operands are
//     data that the command may have to modify; they are checked by hash directly
//     before the start and are not copied.
//   - A command ends with its Run. Cancelling the context, reaching the timeout
//     and the death of this process each end the whole process tree.
//   - Under bubblewrap and sandbox-exec a command sees the system's programs,
//     the folders in its Place and nothing else of the owner: no home folder, no
//     data directory, no session bus, no keychain, and no network unless the plan
//     says so.
//   - The environment is an allow-list. Nothing that looks like a key, and nothing
//     that makes a program load foreign code, reaches a command.
//   - Output is valid UTF-8 and bounded in memory; how much was cut is told.
//
// It refuses to hide what it cannot do: where no mechanism works, Status says
// so with the reason and the remedy, and Result.Mechanism records it for each run.
// Files that a script itself reads or imports are not part of a plan.
package sandbox

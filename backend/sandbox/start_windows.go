package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// detected is a Status; there is no mechanism to remember more of.
type detected struct {
	Status
}

func detect() detected {
	return detected{Status: Status{
		Mechanism: MechanismNone,
		Reason:    "Commands run without a sandbox, because Windows offers none that fits.",
		Remedy:    "You are asked before each command; read it with care.",
	}}
}

// start puts the command into a job before its first instruction, so that
// nothing it starts can be outside.
func start(_ context.Context, _ detected, req request) (*process, error) {
	cmd := &exec.Cmd{Path: req.launch.argv[0], Args: req.launch.argv, Dir: req.spec.Plan.Dir, Env: req.env}
	cmd.SysProcAttr = &windows.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP}
	p, theirs, err := newProcess(cmd, req.spec.Stdin != nil)
	if err != nil {
		return nil, err
	}
	job, err := newJob()
	if err != nil {
		p.closeStreams()
		closeAll(theirs)
		return nil, err
	}
	p.started = time.Now()
	err = cmd.Start()
	closeAll(theirs)
	if err == nil {
		if err = job.adopt(uint32(cmd.Process.Pid)); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	if err != nil {
		p.closeStreams()
		job.close()
		return nil, err
	}
	p.tree = job
	go func() {
		defer close(p.waited)
		_ = cmd.Wait() // the state is in cmd.ProcessState
	}()
	return p, nil
}

// job is a job object; the system ends its processes when the last handle of it
// is closed, which is also what happens when this process dies.
type job struct {
	handle windows.Handle
}

func newJob() (*job, error) {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up a job object: %w", err), windows.CloseHandle(h))
	}
	return &job{handle: h}, nil
}

// adopt takes a suspended process in and lets it run.
func (j *job) adopt(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("open the new process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	if err := windows.AssignProcessToJobObject(j.handle, process); err != nil {
		return fmt.Errorf("put the new process into its job: %w", err)
	}
	return resume(pid)
}

// resume lets the threads of a suspended process run; a new one has one thread.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := false
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open the first thread: %w", err)
		}
		_, err = windows.ResumeThread(thread)
		if err = errors.Join(err, windows.CloseHandle(thread)); err != nil {
			return fmt.Errorf("start the first thread: %w", err)
		}
		resumed = true
	}
	if !resumed {
		return errors.New("the new process has no thread")
	}
	return nil
}

// ask does nothing: a program without a window has no way to be asked.
func (j *job) ask() {}

func (j *job) kill() bool {
	_ = windows.TerminateJobObject(j.handle, 1) // it may be empty already
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
		TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
	}
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses == 0
}

func (j *job) close() { _ = windows.CloseHandle(j.handle) }

func signalName(*os.ProcessState) string { return "" }

// linkOrSkip is not reached: files are held in place here, not copied.
func linkOrSkip(string, string) error { return nil }

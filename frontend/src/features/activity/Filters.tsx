import { useEffect, useRef, useState } from "react";
import { classWords, outcomeWords } from "@/cards/words";
import { EFFECT_CLASSES, OUTCOMES } from "@/gateway/protocol.gen";
import { loadTools, useAgents } from "@/state/agents";
import type { ReceiptFilter } from "@/state/receipts";
import styles from "./activity.module.css";

const typingPauseMs = 200;

function oneOf<T extends string>(values: readonly T[], value: string): T | "" {
  return values.find((each) => each === value) ?? "";
}

/** Search and the three filters of the receipts page. */
export function Filters({ filter, onChange }: { filter: ReceiptFilter; onChange: (next: ReceiptFilter) => void }) {
  const [search, setSearch] = useState(filter.search);
  const tools = useAgents((state) => state.tools);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    // Without the catalogue the filter by tool is empty; everything else works.
    if (!tools) loadTools().catch(() => undefined);
    return () => clearTimeout(timer.current);
  }, [tools]);
  const type = (text: string): void => {
    setSearch(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange({ ...filter, search: text }), typingPauseMs);
  };
  return (
    <search className={styles.filters}>
      <input
        type="search"
        className={styles.search}
        aria-label="Search receipts"
        placeholder="Search in words, targets and tools"
        value={search}
        onChange={(event) => type(event.target.value)}
      />
      <select
        aria-label="Kind"
        value={filter.effectClass}
        onChange={(event) => onChange({ ...filter, search, effectClass: oneOf(EFFECT_CLASSES, event.target.value) })}
      >
        <option value="">Every kind</option>
        {EFFECT_CLASSES.map((each) => (
          <option key={each} value={each}>
            {classWords[each]}
          </option>
        ))}
      </select>
      <select
        aria-label="Outcome"
        value={filter.outcome}
        onChange={(event) => onChange({ ...filter, search, outcome: oneOf(OUTCOMES, event.target.value) })}
      >
        <option value="">Every outcome</option>
        {OUTCOMES.map((each) => (
          <option key={each} value={each}>
            {outcomeWords[each].word}
          </option>
        ))}
      </select>
      <select
        aria-label="Tool"
        value={filter.tool}
        onChange={(event) => onChange({ ...filter, search, tool: event.target.value })}
      >
        <option value="">Every tool</option>
        {(tools ?? []).map((tool) => (
          <option key={tool.name} value={tool.name}>
            {tool.name}
          </option>
        ))}
      </select>
    </search>
  );
}

import { create } from "zustand";
import type { AgentRow, AgentsUpdateParams, ToolRow } from "@/gateway/protocol.gen";
import { call } from "./link";

interface AgentsState {
  rows: readonly AgentRow[];
  tools: readonly ToolRow[] | undefined;
  defaultId: string;
}

/** The agents and the tools they have. */
export const useAgents = create<AgentsState>(() => ({ rows: [], tools: undefined, defaultId: "main" }));

/** The agent that a new chat talks to. */
export function useMainAgent(): AgentRow | undefined {
  return useAgents((state) => state.rows.find((row) => row.id === state.defaultId) ?? state.rows[0]);
}

/** What an agent is called on screen. */
export function agentName(agent: AgentRow | undefined): string {
  return agent?.identity.name || agent?.name || "Your agent";
}

export async function loadAgents(): Promise<void> {
  const { agents, defaultId } = await call("agents.list", {});
  useAgents.setState({ rows: agents ?? [], defaultId });
}

export async function updateAgent(params: AgentsUpdateParams): Promise<void> {
  await call("agents.update", params);
  await loadAgents();
}

export async function loadTools(): Promise<void> {
  const { tools } = await call("tools.catalog", {});
  useAgents.setState({ tools: tools ?? [] });
}

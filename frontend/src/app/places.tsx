import { Bot, ChartColumn, FileCheck, Hand, ListChecks, MessagesSquare, Settings } from "lucide-react";
import type { ReactNode } from "react";

export interface Place {
  path: string;
  label: string;
  icon: ReactNode;
}

/** The navigation, complete and in order; its number is also its shortcut. */
export const places: readonly Place[] = [
  { path: "/chat", label: "Chat", icon: <MessagesSquare /> },
  { path: "/needs-you", label: "Needs you", icon: <Hand /> },
  { path: "/activity", label: "Activity", icon: <FileCheck /> },
  { path: "/agents", label: "Agents", icon: <Bot /> },
  { path: "/tasks", label: "Tasks", icon: <ListChecks /> },
  { path: "/usage", label: "Usage", icon: <ChartColumn /> },
  { path: "/settings", label: "Settings", icon: <Settings /> },
];

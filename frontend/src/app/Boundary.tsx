import { Component, type ReactNode } from "react";
import { Button } from "@/ui/Button";
import { Notice } from "@/ui/Notice";
import styles from "./shell.module.css";

interface BoundaryProps {
  children: ReactNode;
  /** When this changes, what failed is tried again. */
  resetOn: string;
}

interface BoundaryState {
  error: Error | undefined;
  at: string;
}

/** Keeps a fault in one page from taking the whole window: it says so, and the rest goes on. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: undefined, at: this.props.resetOn };

  static getDerivedStateFromError(error: unknown): Partial<BoundaryState> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps(props: BoundaryProps, state: BoundaryState): Partial<BoundaryState> | null {
    return props.resetOn === state.at ? null : { error: undefined, at: props.resetOn };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className={styles.fault}>
        <Notice
          tone="failed"
          role="alert"
          title="This page cannot be shown"
          details={error.stack ?? error.message}
          actions={
            <>
              <Button onClick={() => this.setState({ error: undefined })}>Try again</Button>
              <Button onClick={() => window.location.reload()}>Reload the window</Button>
            </>
          }
        >
          The fault is in this window only. Your agent, your chats and your receipts are safe.
        </Notice>
      </div>
    );
  }
}

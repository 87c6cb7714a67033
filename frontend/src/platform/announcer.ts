type Say = (text: string) => void;

/**
 * Keeps a live region from flooding a screen reader while a reply streams: at most one announcement in each period,
 * always the newest, and the final one at once.
 */
export class Announcer {
  private waiting: string | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly say: Say,
    private readonly periodMs = 3000,
    private readonly now: () => number = () => Date.now(),
  ) {}

  /** Something changed; said now or at the end of the period. */
  progress(text: string): void {
    this.waiting = text;
    if (this.timer !== undefined) return;
    const due = this.lastAt + this.periodMs - this.now();
    if (due <= 0) this.flush();
    else this.timer = setTimeout(() => this.flush(), due);
  }

  /** The end of it; said at once, and what waited is forgotten. */
  final(text: string): void {
    this.waiting = text;
    this.flush();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.waiting = undefined;
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.waiting === undefined) return;
    this.say(this.waiting);
    this.waiting = undefined;
    this.lastAt = this.now();
  }
}

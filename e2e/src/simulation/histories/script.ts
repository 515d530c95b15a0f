import type { Dice } from './dice.ts';

/** One act of a history. */
export interface Step {
  readonly act: string;
  /** How long the world runs before the act. */
  readonly pauseMs: number;
  /** How many numbers the history's dice had given when the act began: the act draws the same ones in each replay. */
  readonly drawn: number;
}

/** The acts of a history: enough to play it again, or to play a part of it. */
export interface Plan {
  readonly steps: readonly Step[];
  /** How long the world runs after the last act. */
  readonly lastPauseMs: number;
  /** How many numbers the dice had given by then. */
  readonly drawn: number;
}

export interface ScriptOptions {
  readonly dice: Dice;
  /** Names of acts, as often in the list as they are likely. */
  readonly acts: readonly string[];
  readonly maxPauseMs: number;
  /** The first act begins at once, without a pause. */
  readonly beginsAtOnce?: boolean;
  readonly wait: (ms: number) => Promise<void>;
  readonly act: (name: string) => Promise<void>;
  /** What is played instead of what the dice say. */
  readonly plan?: Plan | undefined;
}

/** Plays the acts that the dice say, or those of a plan, and keeps the plan that plays them again. */
export class Script {
  readonly #options: ScriptOptions;
  readonly #steps: Step[] = [];
  #lastPauseMs = 0;

  constructor(options: ScriptOptions) {
    this.#options = options;
  }

  /** What was played so far. */
  get plan(): Plan {
    return { steps: [...this.#steps], lastPauseMs: this.#lastPauseMs, drawn: this.#options.dice.drawn };
  }

  /** @param count How many acts there are, unless a plan says it. */
  async play(count: number): Promise<void> {
    const { dice, acts, maxPauseMs, beginsAtOnce = false, wait, plan } = this.#options;
    if (plan) return this.#replay(plan);
    let pauseMs = beginsAtOnce ? 0 : dice.pause(maxPauseMs);
    while (this.#steps.length < count) {
      const name = dice.one(acts) ?? '';
      await this.#step({ act: name, pauseMs, drawn: dice.drawn });
      pauseMs = dice.pause(maxPauseMs);
    }
    this.#lastPauseMs = pauseMs;
    await wait(pauseMs);
  }

  async #step(step: Step): Promise<void> {
    this.#steps.push(step);
    await this.#options.wait(step.pauseMs);
    await this.#options.act(step.act);
  }

  async #replay(plan: Plan): Promise<void> {
    const { dice, wait } = this.#options;
    for (const step of plan.steps) {
      dice.seek(step.drawn);
      await this.#step(step);
    }
    dice.seek(plan.drawn);
    this.#lastPauseMs = plan.lastPauseMs;
    await wait(plan.lastPauseMs);
  }
}

import type { Dice } from './dice.ts';

export interface Step {
  readonly act: string;
  readonly pauseMs: number;
  readonly drawn: number;
}

export interface Plan {
  readonly steps: readonly Step[];
  readonly lastPauseMs: number;
  readonly drawn: number;
}

export interface ScriptOptions {
  readonly dice: Dice;
  readonly acts: readonly string[];
  readonly maxPauseMs: number;
  readonly beginsAtOnce?: boolean;
  readonly wait: (ms: number) => Promise<void>;
  readonly act: (name: string) => Promise<void>;
  readonly plan?: Plan | undefined;
}

/** Runs random actions, or the actions of a plan. */
export class Script {
  readonly #options: ScriptOptions;
  readonly #steps: Step[] = [];
  #lastPauseMs = 0;

  constructor(options: ScriptOptions) {
    this.#options = options;
  }

  get plan(): Plan {
    return { steps: [...this.#steps], lastPauseMs: this.#lastPauseMs, drawn: this.#options.dice.drawn };
  }

  /** @param count the number of random actions. If the options contain a plan, the actions of the plan run instead. */
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

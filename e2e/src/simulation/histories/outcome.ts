import type { ProfileName } from '../network/weather.ts';
import type { Plan } from './script.ts';

/** What is played. Same options, same history, to the byte. */
export interface HistoryOptions {
  readonly seed: number;
  /** How late and how faulty requests, answers and events are; default `none`. */
  readonly profile?: ProfileName | undefined;
  /** Plays these acts instead of those that the seed's dice choose. */
  readonly plan?: Plan | undefined;
}

/** What became of a history. */
export interface Outcome {
  /** Empty when all went as it should. */
  readonly violations: readonly string[];
  /** The story, for a person. */
  readonly story: string;
  /** Everything that was seen, request by request. */
  readonly history: string;
  /** The acts, to play them again. */
  readonly plan: Plan;
}

import { constants } from 'node:os';

/** What an exit code says. */
interface ExitCode {
  readonly code: number;
  /** Of every command that is not named in `of`; absent where it is theirs alone. */
  readonly means?: string;
  /** By the words of a command. */
  readonly of?: Readonly<Record<string, string>>;
}

/** Nothing would happen; something would, and comes to its end; it would not come to its end. 1 is any failure. */
export const PLAN_EXIT = { nothing: 0, changes: 2, stuck: 4 } as const;

/** `status`: no instance runs. */
export const NOT_RUNNING = 3;

const interrupted = 'ended by a second Ctrl-C';

/** All of them; `--help` and the README tell them. */
export const EXIT_CODES: readonly ExitCode[] = [
  {
    code: 0,
    means: 'done',
    of: {
      up: 'ended by Ctrl-C, or ready with --exit-when-ready',
      status: 'an instance runs',
      logs: 'done, or ended by Ctrl-C',
      dashboard: 'ended by Ctrl-C',
      'rollout status': 'complete; with --no-watch: not failed',
      plan: 'nothing would happen',
      'config diff': 'nothing would change',
    },
  },
  {
    code: 1,
    means: 'a sentence on standard error says what is wrong',
    of: {
      'rollout status': 'failed or deleted; or a sentence says what is wrong',
      'config diff': 'something would change',
    },
  },
  {
    code: PLAN_EXIT.changes,
    of: {
      plan: 'something would happen, and come to its end',
      'config diff': 'a sentence says why it cannot be told',
    },
  },
  { code: NOT_RUNNING, of: { status: 'none runs' } },
  { code: PLAN_EXIT.stuck, of: { plan: 'it would get stuck' } },
  {
    code: 130,
    means: 'ended by Ctrl-C (by SIGTERM 143, by a hang-up 129)',
    of: { up: interrupted, logs: interrupted, dashboard: interrupted },
  },
];

/** The codes of a command, by its words. */
export const exitCodesOf = (path: string): readonly (readonly [code: number, means: string])[] =>
  EXIT_CODES.flatMap(({ code, means, of }) => {
    const text = of?.[path] ?? means;
    return text === undefined ? [] : [[code, text] as const];
  });

/** Why a command ends early: somebody asked for it. */
export class Ended extends Error {
  override readonly name = 'Ended';
  /** As shells tell it of a process that a signal ended. */
  readonly code: number;
  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`received ${signal}`);
    this.code = 128 + constants.signals[signal];
  }
}

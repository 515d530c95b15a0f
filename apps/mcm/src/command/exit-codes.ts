import { constants } from 'node:os';

interface ExitCode {
  readonly code: number;
  /** If `means` is undefined, only the commands in `of` use the exit code. */
  readonly means?: string;
  readonly of?: Readonly<Record<string, string>>;
}

/**
 * The exit codes of `mcm plan`, as in `kubectl diff`: 0 means no steps, 1 means steps, and more than 1 means an error.
 * The code 4 means that the plan cannot be completed.
 */
export const PLAN_EXIT = { nothing: 0, changes: 1, problem: 2, stuck: 4 } as const;

export const SIMULATE_EXIT = { clean: 0, violation: 1, problem: 2 } as const;

export const CLOSED_PIPE = 128 + 13;

export const NOT_RUNNING = 3;

const interrupted = 'the user pressed Ctrl-C twice';

export const EXIT_CODES: readonly ExitCode[] = [
  {
    code: 0,
    means: 'done',
    of: {
      up: 'Ctrl-C ended the command; with --exit-when-ready: all machines are ready',
      status: 'the local instance is running',
      logs: 'the command is complete, or Ctrl-C ended the command',
      dashboard: 'ended by Ctrl-C',
      'rollout status': 'the rollout is complete; with --no-watch: no failure so far',
      plan: 'the deployment matches its spec, so the plan has no steps',
      simulate: 'no history violates a rule',
      replay: 'this version of mcm makes the same decisions as the recorded version',
      'config diff': 'the cluster already contains the same objects',
    },
  },
  {
    code: 1,
    means: 'error; the message is on standard error',
    of: {
      'rollout status':
        'the rollout failed, timed out or needs a user action; the deployment was deleted; another error occurred',
      plan: 'the plan has steps, and the rollout completes',
      simulate: 'a history violates a rule',
      replay: 'a repeated decision differs from the recorded decision, or this version of mcm cannot repeat a decision',
      'config diff': 'applying the objects would change the cluster',
    },
  },
  {
    code: PLAN_EXIT.problem,
    of: {
      plan: 'error; the message is on standard error',
      simulate: 'error; the message is on standard error',
      replay: 'an error occurred, or the journal is incomplete',
      'config diff': 'error; the message is on standard error',
    },
  },
  { code: NOT_RUNNING, of: { status: 'the local instance is not running' } },
  { code: PLAN_EXIT.stuck, of: { plan: 'the plan has steps, but the rollout gets stuck' } },
  {
    code: 130,
    means: 'Ctrl-C ended the command (SIGTERM: 143, hang-up: 129, closed pipe: 141)',
    of: { up: interrupted, logs: interrupted, dashboard: interrupted },
  },
];

/** Returns the exit codes of a command. */
export const exitCodesOf = (path: string): readonly (readonly [code: number, means: string])[] =>
  EXIT_CODES.flatMap(({ code, means, of }) => {
    const text = of?.[path] ?? means;
    return text === undefined ? [] : [[code, text] as const];
  });

/** Returns the exit code of a command for an error. */
export const errorCodeOf = (path: string): number =>
  exitCodesOf(path).some(([code]) => code === PLAN_EXIT.problem) ? PLAN_EXIT.problem : 1;

export class Ended extends Error {
  override readonly name = 'Ended';
  /** The exit code of the process: 128 plus the number of the signal, as in a shell. */
  readonly code: number;
  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`received ${signal}`);
    this.code = 128 + constants.signals[signal];
  }
}

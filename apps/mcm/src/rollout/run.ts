import { parseDurationMs } from '@mcm/api';
import { realClock } from '@mcm/kube';
import { type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { eachFormatted, formatted, type OutputFormat } from '../output/format.ts';
import { type Done, pause, promote, restart, resume, type Target, undo } from './actions.ts';
import { history, revisionTemplate } from './history.ts';
import { followStatus, type RolloutState } from './status.ts';

export type RolloutFlags = ClusterFlags & { readonly output: OutputFormat; readonly toRevision?: number };
export type StatusFlags = RolloutFlags & { readonly watch?: boolean; readonly timeout: string };
export type HistoryFlags = RolloutFlags & { readonly revision?: number };

const on = (flags: ClusterFlags, name: string, work: (target: Target) => Promise<void>): Promise<void> =>
  inCluster(flags, 'rollout', ({ client, namespace }) => work({ client, namespace, name, clock: realClock }));

function timeoutOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 0) return ms;
  throw new UserError(`--timeout must be a duration of 0 or more, such as 90s or 5m, not "${text}"`);
}

export const reportStatus = (
  name: string,
  flags: StatusFlags,
  { say, signal }: Pick<CommandEnvironment, 'say' | 'signal'>,
): Promise<void> => {
  const timeoutMs = timeoutOf(flags.timeout);
  return on(flags, name, async (target) => {
    const tell = (state: RolloutState): void => {
      for (const line of eachFormatted(flags.output, { name, ...state }, state.text)) say(line);
    };
    const until = signal();
    const well = await followStatus(target, tell, { follow: flags.watch !== false, signal: until, timeoutMs });
    // An interrupt does not mean that the rollout has failed.
    until.throwIfAborted();
    process.exitCode = well ? 0 : 1;
  });
};

/** The actions of `mcm rollout`, by the name of the command. */
const CHANGES = {
  pause,
  resume,
  restart,
  promote,
  undo: (target, { toRevision = 0 }) => undo(target, toRevision),
} as const satisfies Readonly<Record<string, (target: Target, flags: RolloutFlags) => Promise<Done>>>;
export type Change = keyof typeof CHANGES;

export const changeRollout = (
  what: Change,
  name: string,
  flags: RolloutFlags,
  { say }: Pick<CommandEnvironment, 'say'>,
): Promise<void> =>
  on(flags, name, async (target) => {
    for (const line of formatted(flags.output, await CHANGES[what](target, flags), ({ text }) => [text])) say(line);
  });

export const reportHistory = (
  name: string,
  flags: HistoryFlags,
  { say }: Pick<CommandEnvironment, 'say'>,
): Promise<void> =>
  on(flags, name, async (target) => {
    const { revision, output } = flags;
    const lines = await (revision === undefined ? history(target, output) : revisionTemplate(target, revision, output));
    for (const line of lines) say(line);
  });

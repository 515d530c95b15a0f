import { type MachineDeployment, machineDeployments, parseDurationMs } from '@mcm/api';
import { realClock } from '@mcm/kube';
import { type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { eachFormatted, formatted, type OutputFormat } from '../output/format.ts';
import { type Done, pause, promote, restart, resume, type Target, undo } from './actions.ts';
import { history, revisionTemplate } from './history.ts';
import { followStatus, type RolloutState } from './status.ts';

export type RolloutFlags = ClusterFlags & {
  readonly output: OutputFormat;
  readonly toRevision?: number;
  readonly selector?: string;
};
export type StatusFlags = RolloutFlags & { readonly watch?: boolean; readonly timeout: string };
export type HistoryFlags = RolloutFlags & { readonly revision?: number };

const on = (flags: ClusterFlags, name: string, work: (target: Target) => Promise<void>): Promise<void> =>
  inCluster(flags, 'rollout', ({ client, namespace, programs }) =>
    work({ client, namespace, name, clock: realClock, programs }),
  );

/**
 * Calls `work` for the named deployment, or for each deployment that matches the selector. If `work` fails for a
 * deployment, the command continues with the next one. After a failure, the exit code is 1.
 */
const onEach = (
  flags: RolloutFlags,
  name: string | undefined,
  { warn }: Pick<CommandEnvironment, 'warn'>,
  work: (target: Target) => Promise<void>,
): Promise<void> => {
  if (name !== undefined) return on(flags, name, work);
  const { selector: labelSelector = '' } = flags;
  return inCluster(flags, 'rollout', async ({ client, namespace, programs }) => {
    const { items } = await client.resource<MachineDeployment>(machineDeployments, namespace).list({ labelSelector });
    if (items.length === 0)
      throw new UserError(`no machinedeployment in namespace ${namespace} has the labels ${labelSelector}`);
    for (const { metadata } of items) {
      try {
        await work({ client, namespace, name: metadata.name, clock: realClock, programs });
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        warn(`mcm: ${error.message}`);
        process.exitCode = 1;
      }
    }
  });
};

function timeoutOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 0) return ms;
  throw new UserError(`--timeout must be a duration of 0 or more, such as 90s or 5m, not "${text}"`);
}

export const reportStatus = (
  name: string | undefined,
  flags: StatusFlags,
  environment: Pick<CommandEnvironment, 'say' | 'signal' | 'warn'>,
): Promise<void> => {
  const timeoutMs = timeoutOf(flags.timeout);
  let until: AbortSignal | undefined;
  return onEach(flags, name, environment, async (target) => {
    const tell = (state: RolloutState): void => {
      const model = { name: target.name, ...state };
      for (const line of eachFormatted(flags.output, model, state.text)) environment.say(line);
    };
    until ??= environment.signal();
    const well = await followStatus(target, tell, { follow: flags.watch !== false, signal: until, timeoutMs });
    // If the user has interrupted the command, the command must not report a failed rollout.
    until.throwIfAborted();
    if (!well) process.exitCode = 1;
  });
};

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
  name: string | undefined,
  flags: RolloutFlags,
  environment: Pick<CommandEnvironment, 'say' | 'warn'>,
): Promise<void> =>
  onEach(flags, name, environment, async (target) => {
    const done = await CHANGES[what](target, flags);
    const lines =
      name === undefined
        ? eachFormatted(flags.output, done, done.text)
        : formatted(flags.output, done, ({ text }) => [text]);
    for (const line of lines) environment.say(line);
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

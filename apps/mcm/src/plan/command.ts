import { formatDurationMs, type Machine, type MachineClass, parseDurationMs } from '@mcm/api';
import { type DrainExplanation, type MachineDefaults, previewDrain } from '@mcm/core';
import { type Clock, type KubeClient, type Random, realClock, silentLogger } from '@mcm/kube';
import { type Command, InvalidArgumentError } from 'commander';
import { readNodes } from '../allowed.ts';
import type { Cluster, ClusterFlags } from '../cluster.ts';
import { inCluster, withCluster, withOutput } from '../cluster-options.ts';
import { readObjects } from '../config/read.ts';
import { ownedBy, readNamespace } from '../deployment-reading.ts';
import { UserError } from '../errors.ts';
import { PLAN_EXIT } from '../exit-codes.ts';
import { readMachineSettings } from '../explain/machine-settings.ts';
import { readManagerSettings } from '../explain/manager-settings.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { type GivenDurations, GUESSES } from './durations.ts';
import { planLines } from './lines.ts';
import { type DeploymentPlan, type PlanSource, planDeployment, withClasses } from './plan.ts';
import { type Proposals, proposalsIn, proposed } from './proposal.ts';

interface PlanFlags extends ClusterFlags {
  readonly filename?: string;
  readonly output: OutputFormat;
  readonly joinTime?: number;
  readonly drainTime?: number;
  readonly updateTime?: number;
}

/** What planning needs of the process. */
export interface PlanSurroundings {
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 0) return ms;
  throw new InvalidArgumentError(`"${text}" is no duration of 0 or more; write for example 90s or 5m`);
}

/** Adds `plan`. */
export function addPlan(
  program: Command,
  { say, random }: { readonly say: (line: string) => void; readonly random: Random },
): void {
  const guess = (ms: number): string => formatDurationMs(ms);
  withOutput(
    withCluster(
      program
        .command('plan')
        .description(
          'say what would happen if machinedeployments were applied: which machines, in which order, how long, what stands in the way; changes nothing',
        )
        // Not required in the parser's sense: that would hide a flag that is misspelt.
        .option('-f, --filename <path>', 'file of machinedeployments (and machineclasses), or a directory of such')
        .option(
          '--join-time <duration>',
          `of a new machine (default: as machines took, else ${guess(GUESSES.join)})`,
          duration,
        )
        .option(
          '--drain-time <duration>',
          `of a drain that nothing blocks (default: ${guess(GUESSES.drain)})`,
          duration,
        )
        .option(
          '--update-time <duration>',
          `of an update in place, beside the drain (default: ${guess(GUESSES.update)})`,
          duration,
        ),
    ),
  ).action((flags: PlanFlags) => {
    const { filename } = flags;
    if (filename === undefined)
      throw new UserError('-f is missing: name a file of machinedeployments, or a directory of such');
    return inCluster(flags, 'plan', async (cluster) => {
      const proposals = proposalsIn(await readObjects([filename]), filename);
      const given: GivenDurations = {
        ...(flags.joinTime === undefined ? {} : { join: flags.joinTime }),
        ...(flags.drainTime === undefined ? {} : { drain: flags.drainTime }),
        ...(flags.updateTime === undefined ? {} : { update: flags.updateTime }),
      };
      // It only reads: a signal ends the process, and nothing has to be put in order.
      const { signal } = new AbortController();
      const plans = await planAll(cluster, proposals, given, { random, signal, clock: realClock });
      for (const line of formatted(flags.output, plans, planLines)) say(line);
      process.exitCode = planExit(plans);
    });
  });
}

/** The exit code that tells of plans. */
export function planExit(plans: readonly DeploymentPlan[]): number {
  if (plans.some(({ complete }) => !complete)) return PLAN_EXIT.stuck;
  return plans.some(({ steps }) => steps.length > 0) ? PLAN_EXIT.changes : PLAN_EXIT.nothing;
}

/** Plans each deployment of a file, beside what the cluster has. Reads only. */
export async function planAll(
  cluster: Pick<Cluster, 'client' | 'target' | 'namespace'>,
  { deployments, classes }: Proposals,
  given: GivenDurations,
  surroundings: PlanSurroundings,
): Promise<readonly DeploymentPlan[]> {
  const now = surroundings.clock.now();
  const all = await readNodes(cluster.target);
  const read = new Map<string, ReturnType<typeof readAround>>();
  const plans: DeploymentPlan[] = [];
  for (const file of deployments) {
    const namespace = file.metadata.namespace ?? cluster.namespace;
    const around = read.get(namespace) ?? readAround(cluster.client, namespace);
    read.set(namespace, around);
    const { manager, ofMachines, ...there } = await around;
    const stored = there.deployments.find(({ metadata }) => metadata.name === file.metadata.name);
    const source: PlanSource = {
      sets: stored ? ownedBy(stored, there).sets : [],
      fleet: there.fleet,
      others: there.deployments.filter((other) => other !== stored),
      classes: withClasses(there.classes, classes),
      deployment: proposed({ ...file, metadata: { ...file.metadata, namespace } }, stored, now),
      manager,
      ofMachines,
      nodes: all,
    };
    // Nothing is known of a drain without its Node, and the plan says so.
    const preview = (machines: readonly Machine[]) =>
      drainsOf(cluster.target, all ? machines : [], source.classes, ofMachines.defaults, surroundings);
    plans.push(await planDeployment(source, given, preview, now));
  }
  return plans;
}

/** A namespace as it is, and how its controllers decide. */
async function readAround(client: KubeClient, namespace: string) {
  const [there, manager, ofMachines] = await Promise.all([
    readNamespace(client, namespace),
    readManagerSettings(client, namespace),
    readMachineSettings(client, namespace),
  ]);
  return { ...there, manager, ofMachines };
}

/** One drain after the other: each reads the pods of its node, and the volumes and budgets of the cluster. */
async function drainsOf(
  target: KubeClient,
  machines: readonly Machine[],
  classes: readonly MachineClass[],
  defaults: MachineDefaults,
  { clock, random, signal }: PlanSurroundings,
): Promise<ReadonlyMap<string, DrainExplanation>> {
  const drains = new Map<string, DrainExplanation>();
  for (const machine of machines) {
    const machineClass = classes.find(({ metadata }) => metadata.name === machine.spec.class.name);
    const runtime = { clock, random, log: silentLogger };
    const options = { target, machine, runtime, signal, defaults, ...(machineClass ? { machineClass } : {}) };
    const drain = await previewDrain(options);
    if (drain) drains.set(machine.metadata.name, drain);
  }
  return drains;
}

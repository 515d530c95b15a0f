import { isDeepStrictEqual } from 'node:util';
import { type Machine, type MachineClass, type MachineDeployment, parseDurationMs } from '@mcm/api';
import { type DrainExplanation, type MachineDefaults, previewDrain } from '@mcm/core';
import {
  type Clock,
  errorText,
  type KubeClient,
  type KubeError,
  type KubeObject,
  type Random,
  realClock,
  silentLogger,
  withoutUndefined,
} from '@mcm/kube';
import { readNodes } from '../cluster/allowed.ts';
import { type Telling, tell } from '../cluster/answers.ts';
import { type Cluster, inCluster } from '../cluster/cluster.ts';
import type { AskFlags } from '../cluster/cluster-options.ts';
import { ownedBy, readNamespace } from '../cluster/deployment-reading.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { PLAN_EXIT } from '../command/exit-codes.ts';
import { type ControllerHealth, controllerLines } from '../controllers/health.ts';
import { readControllers } from '../controllers/read.ts';
import { readMachineSettings } from '../explain/settings/machine-settings.ts';
import { readManagerSettings } from '../explain/settings/manager-settings.ts';
import { namesOf, readObjects } from '../files/read.ts';
import { alternativesProblems, classProblem } from './class-problems.ts';
import type { GivenDurations } from './durations.ts';
import { planLines } from './lines.ts';
import { type DeploymentPlan, planDeployment, withClasses } from './plan.ts';
import { type Proposals, proposalsIn, proposed } from './proposal.ts';
import type { PlanSource } from './source.ts';

export interface PlanFlags extends AskFlags {
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly selector?: string;
  readonly joinTime?: string;
  readonly drainTime?: string;
  readonly updateTime?: string;
  readonly startTime?: string;
}

export interface PlanEnvironment {
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly unread?: Set<string>;
  readonly controllers?: readonly ControllerHealth[];
}

function duration(flag: string, text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 0) return ms;
  throw new UserError(`${flag} must be a duration of 0 or more, such as 90s or 5m, not "${text}"`);
}

function givenBy({ joinTime, drainTime, updateTime, startTime }: PlanFlags): GivenDurations {
  return {
    join: joinTime === undefined ? undefined : duration('--join-time', joinTime),
    drain: drainTime === undefined ? undefined : duration('--drain-time', drainTime),
    update: updateTime === undefined ? undefined : duration('--update-time', updateTime),
    start: startTime === undefined ? undefined : duration('--start-time', startTime),
  };
}

export async function reportPlan(
  filenames: readonly string[],
  flags: PlanFlags,
  { random, ...telling }: Telling & Pick<CommandEnvironment, 'random'>,
): Promise<void> {
  const given = givenBy(flags);
  await inCluster(flags, 'plan', async (cluster) => {
    const proposals = proposalsIn(await readObjects(filenames, flags), namesOf(filenames), flags.selector);
    // The command only reads, so a signal may end the process at any time.
    const { signal } = new AbortController();
    const unread = new Set<string>();
    const controllers = await readControllers({ ...cluster, clock: realClock });
    const environment = { random, signal, clock: realClock, unread, controllers };
    const model = await planAll(cluster, proposals, given, environment);
    const before = controllerLines(controllers, realClock.now());
    tell(telling, flags.output, { model, unread, before }, planLines);
    process.exitCode = planExit(model);
  });
}

/** Returns the exit code of `mcm plan` for its plans. */
export function planExit(plans: readonly DeploymentPlan[]): number {
  if (plans.some(({ complete }) => !complete)) return PLAN_EXIT.stuck;
  return plans.some(({ steps }) => steps.length > 0) ? PLAN_EXIT.changes : PLAN_EXIT.nothing;
}

/** Computes a plan for each deployment in a file, from the objects in the cluster. */
export async function planAll(
  cluster: Pick<Cluster, 'client' | 'target' | 'namespace'>,
  { deployments, classes }: Proposals,
  given: GivenDurations,
  environment: PlanEnvironment,
): Promise<readonly DeploymentPlan[]> {
  await refuseInvalidClasses(classes);
  const now = environment.clock.now();
  const all = await readNodes(cluster.target, environment.unread);
  const read = new Map<string, ReturnType<typeof readAround>>();
  const aroundIn = (namespace: string) => {
    const around = read.get(namespace) ?? readAround(cluster.client, namespace);
    read.set(namespace, around);
    return around;
  };
  const plans: DeploymentPlan[] = [];
  const files =
    deployments.length > 0
      ? deployments
      : await usersOf(classes, cluster.namespace, async (namespace) => (await aroundIn(namespace)).deployments);
  for (const file of files) {
    const namespace = file.metadata.namespace ?? cluster.namespace;
    const { manager, ofMachines, ...there } = await aroundIn(namespace);
    const stored = there.deployments.find(({ metadata }) => metadata.name === file.metadata.name);
    const deployment = proposed({ ...file, metadata: { ...file.metadata, namespace } }, stored, now);
    const wanted = there.classes.find(({ metadata }) => metadata.name === deployment.spec.template.spec.class.name);
    const problem = wanted && classes.every(isOther(wanted)) ? await classProblem(wanted) : undefined;
    const own = withClasses(there.classes, classes).find(
      ({ metadata }) => metadata.name === deployment.spec.template.spec.class.name,
    );
    if (own) await refuseInvalidAlternatives(file, own);
    const source: PlanSource = {
      sets: stored ? ownedBy(stored, there).sets : [],
      fleet: there.fleet,
      others: there.deployments.filter((other) => other !== stored),
      classes: withClasses(there.classes, classes),
      deployment,
      classProblem: problem,
      isClassChanged: own !== undefined && wanted !== undefined && isChanged(wanted, own),
      manager,
      ofMachines,
      controllers: environment.controllers ?? [],
      nodes: all,
    };
    // If the user may not read Nodes, the durations of drains are unknown, and the output contains a note.
    const preview = (machines: readonly Machine[]) =>
      drainsOf(cluster.target, all ? machines : [], source.classes, ofMachines.defaults, environment);
    plans.push(await planDeployment(source, given, preview, now));
  }
  return plans;
}

async function usersOf(
  classes: readonly MachineClass[],
  namespace: string,
  deploymentsIn: (namespace: string) => Promise<readonly MachineDeployment[]>,
): Promise<readonly MachineDeployment[]> {
  const names = Map.groupBy(classes, ({ metadata }) => metadata.namespace ?? namespace);
  const users: MachineDeployment[] = [];
  for (const [where, own] of names) {
    const isUsed = ({ spec }: MachineDeployment): boolean =>
      own.some(({ metadata }) => metadata.name === spec.template.spec.class.name);
    users.push(...(await deploymentsIn(where)).filter(isUsed));
  }
  if (users.length > 0) return users;
  const all = classes.map(({ metadata }) => metadata.name).join(', ');
  throw new UserError(
    `no template of a MachineDeployment refers to MachineClass ${all}, so the file changes no new machine`,
  );
}

const settingsOf = (machineClass: MachineClass): object =>
  withoutUndefined({ ...machineClass, metadata: undefined, kind: undefined, apiVersion: undefined });

/** Returns true if a class in the file has other settings than the stored class. */
const isChanged = (stored: MachineClass, own: MachineClass): boolean =>
  !isDeepStrictEqual(settingsOf(stored), settingsOf(own));

const isOther =
  (one: MachineClass) =>
  ({ metadata }: MachineClass): boolean =>
    metadata.name !== one.metadata.name;

/** Verifies the classes in a file. @throws UserError if a class or its capacity alternatives are invalid */
async function refuseInvalidClasses(classes: readonly MachineClass[]): Promise<void> {
  const problems = await Promise.all(
    classes.map(async (one) => {
      const problem = await classProblem(one);
      const broken = problem === undefined ? [] : [`mcm cannot create VMs: ${problem}`];
      const found = [...broken, ...(await alternativesProblems(one, one))];
      return found.map((text) => `MachineClass ${one.metadata.name}: ${text}`);
    }),
  );
  if (problems.flat().length > 0) throw new UserError(problems.flat().join('\n'));
}

/**
 * Verifies the capacity alternatives of the deployments.
 * @throws UserError if the alternatives of a deployment do not fit its class
 */
async function refuseInvalidAlternatives(
  file: Pick<KubeObject, 'metadata'>,
  machineClass: MachineClass,
): Promise<void> {
  const [problem] = await alternativesProblems(file, machineClass);
  if (problem !== undefined) throw new UserError(`MachineDeployment ${file.metadata.name}: ${problem}`);
}

async function readAround(client: KubeClient, namespace: string) {
  const [there, manager, ofMachines] = await Promise.all([
    readNamespace(client, namespace),
    readManagerSettings(client, namespace),
    readMachineSettings(client, namespace),
  ]);
  return { ...there, manager, ofMachines };
}

/** Returns the previews of drains by machine. If the user may not read pods, the result is null. */
async function drainsOf(
  target: KubeClient,
  machines: readonly Machine[],
  classes: readonly MachineClass[],
  defaults: MachineDefaults,
  { clock, random, signal, unread }: PlanEnvironment,
): Promise<ReadonlyMap<string, DrainExplanation> | null> {
  const drains = new Map<string, DrainExplanation>();
  for (const machine of machines) {
    const machineClass = classes.find(({ metadata }) => metadata.name === machine.spec.class.name);
    const runtime = { clock, random, log: silentLogger };
    let refusals = 0;
    const onRefused = (refusal: KubeError): void => {
      refusals += 1;
      unread?.add(errorText(refusal));
    };
    const drain = await previewDrain({
      target,
      machine,
      runtime,
      signal,
      defaults,
      machineClass,
      cause: 'Rollout',
      onRefused: unread ? onRefused : undefined,
    });
    if (drain) drains.set(machine.metadata.name, drain);
    else if (refusals > 0) return null;
  }
  return drains;
}

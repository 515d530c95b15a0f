import {
  isFrozen,
  Labels,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
  PreserveValues,
  phaseOf,
} from '@mcm/api';
import {
  countReplacements,
  effectiveValue,
  type Guards,
  guardsOf,
  keptInPause,
  replacementGroup,
  replacementLimit,
  type SafeguardSettings,
  splitSets,
  stopsOnFailedUpdate,
} from '@mcm/core';
import { controllerOf, ignoreNotFound, type KubeClient, type Node } from '@mcm/kube';
import { ifAllowed, readNodes } from '../../cluster/allowed.ts';
import { KEPT_UPDATE } from './brief.ts';

/** The data that decides whether mcm replaces a Failed machine. */
export interface ReplacementContext {
  readonly set?: MachineSet | undefined;
  readonly deployment?: MachineDeployment | undefined;
  /** Whether the rollout is paused and keeps the failed machines of the set, because its template is not proven. */
  readonly keepsFailed?: boolean | undefined;
  readonly fleet?: readonly Machine[] | undefined;
  readonly guards?: Guards | undefined;
  readonly node?: Node | undefined;
}

/** Returns the reasons that currently prevent the replacement of a machine. */
export function replacementHolds(machine: Machine, context: ReplacementContext): readonly string[] {
  const { deployment } = context;
  const isKept = phaseOf(machine) === 'InPlaceUpdateFailed' && deployment && stopsOnFailedUpdate(deployment);
  const own = isKept ? [KEPT_UPDATE] : [];
  return [...own, ...ofOwners(context), ...ofPreservation(machine, context), ...ofGuards(machine, context)];
}

function ofOwners({ set, deployment, keepsFailed }: ReplacementContext): readonly string[] {
  if (deployment?.metadata.deletionTimestamp) return ['the MachineDeployment is being deleted'];
  if (!set) return [];
  const { name, deletionTimestamp, labels } = set.metadata;
  if (deletionTimestamp) return [`MachineSet ${name} is being deleted`];
  return [
    ...(isFrozen(set) ? [`MachineSet ${name} is frozen`] : []),
    ...(labels?.[Labels.ScaleUpDisabled] === undefined
      ? []
      : [`MachineSet ${name} has the label ${Labels.ScaleUpDisabled}`]),
    ...(keepsFailed ? ['the rollout is paused, and the new template is not proven'] : []),
  ];
}

function ofPreservation(machine: Machine, { set, node }: ReplacementContext): readonly string[] {
  if (machine.status?.currentStatus?.phase === 'Failed') return [];
  const wish = effectiveValue(machine, node);
  if (wish === PreserveValues.False) return [];
  const isAsked = (Object.values(PreserveValues) as readonly string[]).includes(wish);
  if (isAsked || machine.status?.currentStatus?.preserveExpiryTime) return ['the machine is preserved'];
  const most = set?.spec.autoPreserveFailedMachineMax ?? 0;
  return most > 0 ? [`the machine is one of ${most} Failed machines that its MachineSet preserves`] : [];
}

function ofGuards(machine: Machine, { set, fleet, guards }: ReplacementContext): readonly string[] {
  if (!guards) return [];
  const className = set?.spec.template.spec.class.name;
  const lacksClass = className !== undefined && !guards.hasClass(className);
  const open = guards.breakerOf(machine);
  const group = fleet?.filter((one) => replacementGroup(one) === replacementGroup(machine)) ?? [];
  const others = countReplacements(
    group.filter(({ metadata }) => metadata.uid !== machine.metadata.uid),
    { making: true },
  );
  const limit = replacementLimit(guards.maxUnhealthyReplacements, group.length);
  return [
    ...(lacksClass ? [`the namespace has no MachineClass "${className}"`] : []),
    ...(open
      ? [
          `the circuit breaker is open: ${open.unreachable} of ${open.joined} machines of the ${open.scope} are unreachable`,
        ]
      : []),
    ...(others >= limit
      ? [
          `${others} other ${others === 1 ? 'machine' : 'machines'} of the same deployment or set ${others === 1 ? 'is' : 'are'} being replaced or created, and --max-unhealthy-replacements allows only ${limit}`,
        ]
      : []),
  ];
}

interface PausedRollout {
  readonly set: MachineSet | null | undefined;
  readonly deployment: MachineDeployment | null | undefined;
  readonly sets: readonly MachineSet[] | undefined;
  readonly fleet: readonly Machine[] | undefined;
}

function keepsFailed({ set, deployment, sets, fleet }: PausedRollout, settings: SafeguardSettings, now: Date): boolean {
  if (!set || !deployment || !sets || !fleet || !settings.rolloutAnnotations) return false;
  const isOwned =
    (by: { readonly metadata: { readonly uid: string } }) =>
    (one: Machine | MachineSet): boolean =>
      controllerOf(one)?.uid === by.metadata.uid;
  const split = splitSets(deployment, sets.filter(isOwned(deployment)));
  if (split.current?.metadata.uid !== set.metadata.uid) return false;
  return keptInPause(deployment, split, (one) => fleet.filter(isOwned(one)), now).keeps !== undefined;
}

interface Target {
  readonly client: KubeClient;
  readonly target: KubeClient;
  readonly namespace: string;
}

export async function readReplacementContext(
  { client, target, namespace }: Target,
  machine: Machine,
  node: Node | undefined,
  settings: SafeguardSettings,
  { now, unread }: { readonly now: Date; readonly unread: Set<string> },
): Promise<ReplacementContext> {
  const owner = machine.metadata.ownerReferences?.find(({ controller }) => controller);
  if (!owner) return {};
  const sets = client.resource<MachineSet>(machineSets, namespace);
  const [set, fleet, classes, nodes] = await Promise.all([
    ifAllowed(ignoreNotFound(sets.get(owner.name)), unread),
    ifAllowed(client.resource<Machine>(machines, namespace).list(), unread),
    ifAllowed(client.resource<MachineClass>(machineClasses, namespace).list(), unread),
    readNodes(target, unread),
  ]);
  const above = set?.metadata.ownerReferences?.find(({ controller }) => controller);
  const deployments = client.resource<MachineDeployment>(machineDeployments, namespace);
  const deployment = above && (await ifAllowed(ignoreNotFound(deployments.get(above.name)), unread));
  const siblings = deployment?.spec.paused ? await ifAllowed(sets.list(), unread) : undefined;
  return {
    set: set ?? undefined,
    deployment: deployment ?? undefined,
    keepsFailed: keepsFailed({ set, deployment, sets: siblings?.items, fleet: fleet?.items }, settings, now),
    fleet: fleet ? fleet.items : undefined,
    guards:
      fleet && classes ? guardsOf({ machines: fleet.items, classes: classes.items, nodes }, settings, now) : undefined,
    node,
  };
}

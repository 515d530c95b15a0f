import { Labels, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { offeringOf, powerOf, revisionOf, type ZoneOutlook, zoneOutlook } from '@mcm/core';
import { controllerOf, type Node, withoutUndefined } from '@mcm/kube';
import type { ControllerHealth } from '../controllers/health.ts';
import { machineWait, sinceOf } from '../explain/machine/machine-wait.ts';
import { configOf } from '../explain/machine/node-config.ts';
import { problemOf } from '../explain/reasons/conditions.ts';
import { waitUnder } from '../explain/reasons/stopped-controllers.ts';
import { age } from '../output/age.ts';

export interface Branch {
  readonly kind: 'Cluster' | 'MachineDeployment' | 'MachineSet' | 'Machine' | 'Node';
  readonly name: string;
  readonly namespace?: string;
  readonly state: string;
  readonly numbers?: Readonly<Record<string, number>>;
  readonly since?: string | undefined;
  readonly preservedUntil?: string | undefined;
  readonly problem?: string;
  readonly more: Readonly<Record<string, string>>;
  readonly children: readonly Branch[];
}

export interface TreeSource {
  readonly deployments: readonly MachineDeployment[];
  readonly sets: readonly MachineSet[];
  readonly machines: readonly Machine[];
  readonly nodes: readonly Node[] | undefined;
}

const byName = (a: { metadata: { name: string } }, b: { metadata: { name: string } }): number =>
  a.metadata.name.localeCompare(b.metadata.name);

/** Groups objects by the UID of their controller. */
function grouped<T extends MachineSet | Machine>(
  objects: readonly T[],
  owners: readonly { metadata: { uid: string } }[],
) {
  const known = new Set(owners.map(({ metadata }) => metadata.uid));
  return Map.groupBy([...objects].sort(byName), (object) => {
    const uid = controllerOf(object)?.uid ?? '';
    return known.has(uid) ? uid : '';
  });
}

const without = (problem: string | undefined) => (problem === undefined || problem === '' ? {} : { problem });

/**
 * Builds the tree: deployments with their sets, machines and Nodes. The tree also has these roots:
 * - sets and machines without a controller
 * - Nodes without a machine, if the namespace has machines
 */
export function fleetTree(
  { deployments, sets, machines, nodes }: TreeSource,
  { controllersIn = () => [], allNamespaces = false, all = false }: TreeOptions = {},
): Branch[] {
  const machinesOf = grouped(machines, [...sets, ...deployments]);
  const isEmpty = ({ metadata: { uid }, spec }: MachineSet) => (spec.replicas ?? 0) === 0 && !machinesOf.has(uid);
  const setsOf = all ? grouped(sets, deployments) : withoutOld(grouped(sets, deployments), isEmpty);
  const nodesByName = nodes && new Map(nodes.map((node) => [node.metadata.name, node]));
  const claimed = new Set(machines.flatMap(({ metadata }) => metadata.labels?.[Labels.Node] ?? []));
  const stray = (machines.length === 0 ? [] : [...(nodes ?? [])])
    .filter(({ metadata }) => !claimed.has(metadata.name))
    .sort(byName);
  const machineBranch = (machine: Machine): Branch =>
    branchOfMachine(machine, nodesByName, controllersIn(machine.metadata.namespace ?? ''));
  const setBranch = (set: MachineSet): Branch =>
    branchOfSet(set, (machinesOf.get(set.metadata.uid) ?? []).map(machineBranch));
  const named = (object: MachineDeployment | MachineSet | Machine, branch: Branch): Branch =>
    allNamespaces ? { ...branch, namespace: object.metadata.namespace ?? '' } : branch;
  const roots = [
    ...[...deployments].sort(byName).map((one) => {
      const { uid } = one.metadata;
      const warm = (machinesOf.get(uid) ?? []).map(machineBranch);
      const own = sets.filter((set) => controllerOf(set)?.uid === uid);
      const ofSets = own.flatMap(({ metadata }) => machinesOf.get(metadata.uid) ?? []);
      const nodeOf = (name: string): Node | undefined => nodesByName?.get(name);
      const zones = zoneOutlook({ deployment: one, sets: own, machines: ofSets, nodeOf });
      return named(one, branchOfDeployment(one, [...(setsOf.get(uid) ?? []).map(setBranch), ...warm], zones));
    }),
    ...(setsOf.get('') ?? []).map((set) => named(set, setBranch(set))),
    ...(machinesOf.get('') ?? []).map((machine) => named(machine, machineBranch(machine))),
  ].sort((a, b) => (a.namespace ?? '').localeCompare(b.namespace ?? ''));
  return [...roots, ...stray.map((node) => branchOfNode(node, 'without a machine'))];
}

interface TreeOptions {
  /** Returns the states of the controllers in a namespace. */
  readonly controllersIn?: (namespace: string) => readonly ControllerHealth[];
  readonly allNamespaces?: boolean;
  /** Whether to show old sets without machines, which exist only as revisions of a deployment. */
  readonly all?: boolean;
}

/** Removes sets without machines, except the newest set of each deployment. */
function withoutOld(
  setsOf: ReadonlyMap<string, readonly MachineSet[]>,
  isEmpty: (set: MachineSet) => boolean,
): ReadonlyMap<string, readonly MachineSet[]> {
  const kept = [...setsOf].map(([owner, sets]) => {
    const newest = Math.max(...sets.map((set) => revisionOf(set) ?? 0));
    return [owner, sets.filter((set) => owner === '' || !isEmpty(set) || (revisionOf(set) ?? 0) === newest)] as const;
  });
  return new Map(kept);
}

const ZONE = { evacuated: 'evacuated', standby: 'on standby', short: 'without capacity' } as const;

const going = ({ deletionTimestamp }: MachineSet['metadata']): string[] =>
  deletionTimestamp === undefined ? [] : ['being deleted'];

function branchOfDeployment(
  deployment: MachineDeployment,
  children: readonly Branch[],
  outlook: ZoneOutlook | undefined,
): Branch {
  const { metadata, spec, status } = deployment;
  const words = [
    `${status?.availableReplicas ?? 0}/${spec.replicas ?? 1} available`,
    `${status?.updatedReplicas ?? 0} updated`,
    ...(spec.paused === true ? ['paused'] : []),
    ...(outlook?.zones ?? []).flatMap(({ name, state }) => (state === 'open' ? [] : [`zone ${name} ${ZONE[state]}`])),
    ...going(metadata),
  ];
  return {
    kind: 'MachineDeployment',
    name: metadata.name,
    state: words.join(', '),
    numbers: {
      desired: spec.replicas ?? 1,
      available: status?.availableReplicas ?? 0,
      updated: status?.updatedReplicas ?? 0,
    },
    ...without(problemOf(deployment)),
    more: {
      strategy: spec.strategy?.type ?? 'RollingUpdate',
      class: spec.template.spec.class.name ?? '',
      ...withoutUndefined({ zones: outlook?.zones.map(({ name, machines }) => `${name}:${machines}`).join(',') }),
    },
    children,
  };
}

function branchOfSet(set: MachineSet, children: readonly Branch[]): Branch {
  const { metadata, spec, status } = set;
  const bad = status?.machineSetCondition?.find(({ status: value }) => value === 'True');
  return {
    kind: 'MachineSet',
    name: metadata.name,
    state: [
      `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0} ready, revision ${revisionOf(set) ?? '?'}`,
      ...going(metadata),
    ].join(', '),
    numbers: { desired: spec.replicas ?? 0, ready: status?.readyReplicas ?? 0, revision: revisionOf(set) ?? 0 },
    ...without(bad && (bad.message ?? bad.reason ?? bad.type)),
    more: { class: spec.template.spec.class.name ?? '' },
    children,
  };
}

function branchOfMachine(
  machine: Machine,
  nodes: ReadonlyMap<string, Node> | undefined,
  controllers: readonly ControllerHealth[],
): Branch {
  const { metadata, spec, status } = machine;
  const acting = machineWait(machine);
  const wait = acting && waitUnder(acting, controllers);
  const phase = wait?.phase ?? status?.currentStatus?.phase ?? '';
  const since = wait && sinceOf(machine);
  const nodeName = metadata.labels?.[Labels.Node] ?? '';
  const node = nodes?.get(nodeName);
  const kept = status?.currentStatus?.preserveExpiryTime;
  return {
    kind: 'Machine',
    name: metadata.name,
    state: phase,
    preservedUntil: kept || undefined,
    since: since || undefined,
    ...without(wait?.doing),
    more: {
      class: spec.class.name ?? '',
      providerID: spec.providerID ?? 'no VM yet',
      ...withoutUndefined({ zone: offeringOf(machine)?.zone }),
    },
    // If the VM of a machine is stopped, the machine controller has deleted the Node, so a missing Node is not a
    // problem.
    children:
      nodeName === '' || (!node && powerOf(machine)?.is === 'Stopped')
        ? []
        : [node ? branchOfNode(node) : unseenNode(nodeName, nodes !== undefined)],
  };
}

function unseenNode(name: string, read: boolean): Branch {
  return { kind: 'Node', name, state: read ? 'does not exist' : 'the node could not be read', more: {}, children: [] };
}

function branchOfNode(node: Node, problem?: string): Branch {
  const { metadata, spec, status } = node;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const isReady = ready?.status === 'True';
  const state = `${isReady ? 'Ready' : 'NotReady'}${spec?.unschedulable === true ? ', cordoned' : ''}`;
  const labels = metadata.labels ?? {};
  return {
    kind: 'Node',
    name: metadata.name,
    state,
    ...without(problem ?? (isReady ? configOf(node) : (ready?.message ?? 'the node reports no Ready condition'))),
    more: { zone: labels['topology.kubernetes.io/zone'] ?? '', kubelet: status?.nodeInfo?.kubeletVersion ?? '' },
    children: [],
  };
}

export function treeLines(branches: readonly Branch[], wide: boolean, now: Date, namespace?: string): string[] {
  if (branches.length === 0)
    return [
      `no machinedeployments, machinesets or machines in ${namespace ? `namespace ${namespace}` : 'any namespace'}`,
    ];
  return branches.flatMap((branch, index) => {
    const own = branch.namespace;
    const isFirst = own !== undefined && own !== branches[index - 1]?.namespace;
    const head = isFirst ? [...(index > 0 ? [''] : []), `namespace ${own}`] : [];
    return [...head, ...draw(branch, { first: '', rest: '', wide, now })];
  });
}

interface Drawing {
  readonly first: string;
  readonly rest: string;
  readonly wide: boolean;
  readonly now: Date;
}

function draw(
  { kind, name, state, since, preservedUntil, problem, more, children }: Branch,
  { first, rest, wide, now }: Drawing,
): string[] {
  const kept = preservedUntil ? `, preserved until ${preservedUntil}` : '';
  const details = Object.entries(more).filter(([, value]) => wide && value !== '');
  const words = [
    `${kind.toLowerCase()}/${name}`,
    [state, ...(since ? [` for ${age(now.getTime() - Date.parse(since))}`] : []), kept].join(''),
    ...details.map(([heading, value]) => `${heading}=${value}`),
    ...(problem === undefined ? [] : [`– ${problem}`]),
  ];
  const below = children.flatMap((child, index) => {
    const last = index === children.length - 1;
    return draw(child, {
      first: `${rest}${last ? '└─ ' : '├─ '}`,
      rest: `${rest}${last ? '   ' : '│  '}`,
      wide,
      now,
    });
  });
  return [`${first}${words.join('  ')}`, ...below];
}

import { createHash } from 'node:crypto';
import {
  Annotations,
  Labels,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  phaseOf,
} from '@mcm/api';
import { type Clock, controllerOf, type Informer, isConflict, type KubeClient, makeKey, type Node } from '@mcm/kube';
import { BY_CONTROLLER, BY_NODE } from '../control/caches.ts';
import { scaleInObjection } from '../deployment/scaling/scale-in.ts';
import { isInstance } from '../node/instance.ts';
import { autoscalerSizesOf } from '../objects/autoscaler-sizes.ts';
import { isTerminating } from '../objects/machines.ts';
import { AutoscalerError } from './problem.ts';
import { isAccepted, isApplied, ProcessedScaleIns, pendingScaleIn } from './processed.ts';
import { type TemplateNode, templateNode } from './template-node.ts';
import { Turns } from './turns.ts';

/** The caches for node groups. */
export interface NodeGroupCaches {
  readonly deployments: Informer<MachineDeployment>;
  readonly sets: Informer<MachineSet>;
  readonly machines: Informer<Machine>;
  readonly classes: Informer<MachineClass>;
  readonly nodes: Informer<Node> | undefined;
}

/** A MachineDeployment that an autoscaler may scale. */
export interface NodeGroup {
  readonly id: string;
  readonly minSize: number;
  readonly maxSize: number;
  readonly debug: string;
}

/** The name and the provider ID by which an autoscaler refers to a node. */
export interface NamedNode {
  readonly name: string;
  readonly providerID: string;
}

/** A machine of a node group, in the format of the autoscaler API. */
export interface GroupInstance {
  /**
   * The `spec.providerID` of the Node or the Machine. For a machine without a VM, the ID is the result of
   * `requestedId`.
   */
  readonly id: string;
  readonly state: 'running' | 'creating' | 'deleting';
  readonly error?: { readonly code: string; readonly message: string; readonly isCapacity: boolean };
}

interface Removal {
  readonly nodes: readonly NamedNode[];
  resolve(): void;
  reject(error: unknown): void;
}

/** The patch of a MachineDeployment that changes the size of its node group. */
interface Resize {
  readonly metadata?: object;
  readonly spec: object;
}

const ATTEMPTS = 10;

const requestedId = ({ metadata }: Machine): string => `requested://${metadata.namespace ?? ''}/${metadata.name}`;

/** The node groups of an autoscaler: MachineDeployments with a minimum and a maximum size in annotations. */
export class NodeGroups {
  readonly #caches: NodeGroupCaches;
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #turns = new Turns();
  readonly #processed: ProcessedScaleIns;
  readonly #removals = new Map<string, Removal[]>();

  constructor(caches: NodeGroupCaches, client: KubeClient, clock: Clock) {
    this.#caches = caches;
    this.#client = client;
    this.#clock = clock;
    this.#processed = new ProcessedScaleIns(caches.deployments, clock);
  }

  list(): readonly NodeGroup[] {
    return [...this.#caches.deployments.store.list()]
      .flatMap((deployment) => groupOf(deployment) ?? [])
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns the node group of a node, or undefined for a node that the autoscaler must not change. */
  groupOfNode(node: NamedNode): NodeGroup | undefined {
    const machine = this.#machineOf(node);
    const deployment = machine && this.#deploymentOf(machine);
    return deployment && groupOf(deployment);
  }

  targetSize(id: string): number {
    return this.#deployment(id).spec.replicas ?? 0;
  }

  instances(id: string): readonly GroupInstance[] {
    return this.#machinesOf(this.#deployment(id)).map((machine) => this.#instanceOf(machine));
  }

  template(id: string): TemplateNode {
    const deployment = this.#deployment(id);
    const { namespace } = deployment.metadata;
    const key = makeKey(namespace, deployment.spec.template.spec.class.name ?? '');
    return templateNode(deployment, this.#caches.classes.store.get(key));
  }

  /**
   * @throws AutoscalerError
   */
  async increase(id: string, delta: number): Promise<void> {
    if (!Number.isSafeInteger(delta) || delta <= 0)
      throw new AutoscalerError('INVALID_ARGUMENT', `delta must be a positive integer, not ${delta}`);
    await this.#turns.take(id, () =>
      this.#resize(id, (deployment, { maxSize }) => {
        const size = (deployment.spec.replicas ?? 0) + delta;
        if (size > maxSize)
          throw new AutoscalerError('OUT_OF_RANGE', `${id}: size ${size} is above the maximum ${maxSize}`);
        return { spec: { replicas: size } };
      }),
    );
  }

  /** Reduces the size of the group. The new size must include all machines that have a Node. */
  async decrease(id: string, delta: number): Promise<void> {
    if (!Number.isSafeInteger(delta) || delta >= 0)
      throw new AutoscalerError('INVALID_ARGUMENT', `delta must be a negative integer, not ${delta}`);
    await this.#turns.take(id, () =>
      this.#resize(id, (deployment, { minSize }) => {
        const size = (deployment.spec.replicas ?? 0) + delta;
        const joined = this.#machinesOf(deployment).filter(
          (machine) => this.#nodeOf(machine) && !isTerminating(machine),
        );
        const least = Math.max(minSize, joined.length);
        if (size < least)
          throw new AutoscalerError(
            'OUT_OF_RANGE',
            `${id}: size ${size} is below ${least}; to delete existing nodes, call DeleteNodes with their names`,
          );
        return { spec: { replicas: size } };
      }),
    );
  }

  /**
   * Deletes the machines of the nodes, and reduces the size of the group by the number of deleted machines. The promise
   * resolves when the manager has accepted the scale-in.
   * @throws AutoscalerError
   */
  remove(id: string, nodes: readonly NamedNode[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = this.#removals.get(id) ?? [];
    waiting.push({ nodes, resolve, reject });
    if (waiting.length > 1) return promise;
    this.#removals.set(id, waiting);
    void this.#turns.take(id, async () => {
      this.#removals.delete(id);
      await this.#removeEach(id, waiting);
    });
    return promise;
  }

  /**
   * Removes the nodes of all requests with one write. If this write fails because of one node, each request gets its
   * own write, so that the other requests succeed.
   */
  async #removeEach(id: string, removals: readonly Removal[]): Promise<void> {
    try {
      await this.#removeNow(
        id,
        removals.flatMap(({ nodes }) => nodes),
      );
      for (const { resolve } of removals) resolve();
    } catch (error) {
      if (removals.length > 1 && error instanceof AutoscalerError && error.code !== 'UNAVAILABLE')
        for (const removal of removals) await this.#removeEach(id, [removal]);
      else for (const { reject } of removals) reject(error);
    }
  }

  async #removeNow(id: string, nodes: readonly NamedNode[]): Promise<void> {
    let requestID: string | undefined;
    await this.#resize(
      id,
      (deployment, { minSize }) => {
        requestID = undefined;
        const machines = this.#leaving(id, deployment, nodes);
        if (machines.length === 0) return undefined;
        const from = deployment.spec.replicas ?? 0;
        const to = from - machines.length;
        if (to < minSize)
          throw new AutoscalerError('OUT_OF_RANGE', `${id}: size ${to} is below the minimum ${minSize}`);
        const sets = this.#setsOf(deployment);
        const why = scaleInObjection(
          { machines, from, to },
          { deployment, sets, machinesOf: (set) => this.#machinesOfSet(set), now: this.#clock.now() },
        );
        if (why !== undefined) throw new AutoscalerError('FAILED_PRECONDITION', `${id}: ${why}`);
        const seed = `${deployment.metadata.uid} ${deployment.metadata.resourceVersion} ${machines.join(',')}`;
        requestID = createHash('sha256').update(seed).digest('hex').slice(0, 16);
        return {
          metadata: { annotations: { [Annotations.ScaleIn]: JSON.stringify({ requestID, machines, from, to }) } },
          spec: { replicas: to },
        };
      },
      true,
    );
    if (requestID !== undefined) await this.#processed.accepted(id, requestID);
  }

  #leaving(id: string, deployment: MachineDeployment, nodes: readonly NamedNode[]): readonly string[] {
    const own = new Set(this.#machinesOf(deployment).map(({ metadata }) => metadata.uid));
    const names = nodes.flatMap((node) => {
      const machine = this.#machineOf(node);
      if (!machine || !own.has(machine.metadata.uid))
        throw new AutoscalerError('NOT_FOUND', `${id} has no machine for node ${node.name} (${node.providerID})`);
      const { name } = machine.metadata;
      return isTerminating(machine) || isAccepted(deployment, name) ? [] : [name];
    });
    return [...new Set(names)].toSorted();
  }

  /**
   * Changes the size of a node group. The resource version of the deployment is a precondition of the write, and the
   * method decides again after a conflict. If a scale-in is pending, the method first waits until the manager has
   * processed the scale-in.
   */
  async #resize(
    id: string,
    change: (deployment: MachineDeployment, group: NodeGroup) => Resize | undefined,
    isRemoval = false,
  ): Promise<void> {
    const { namespace, name } = this.#deployment(id).metadata;
    const resource = this.#client.resource<MachineDeployment>(machineDeployments, namespace ?? '');
    for (let attempt = 1; ; attempt += 1) {
      const deployment = await resource.get(name);
      if (pendingScaleIn(deployment) !== undefined) {
        await this.#processed.none(id, deployment);
        continue;
      }
      const group = groupOf(deployment);
      if (group === undefined) throw new AutoscalerError('NOT_FOUND', `${id} is not a node group: ${WANTED}`);
      const body = change(deployment, group);
      if (body === undefined) return;
      if (isRemoval && !isApplied(deployment)) {
        await this.#processed.applied(id, deployment);
        continue;
      }
      const { uid, resourceVersion } = deployment.metadata;
      try {
        await resource.patch(name, {
          type: 'merge',
          body: { ...body, metadata: { ...body.metadata, uid, resourceVersion } },
        });
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  #deployment(id: string): MachineDeployment {
    const deployment = this.#caches.deployments.store.get(id);
    if (deployment === undefined || groupOf(deployment) === undefined)
      throw new AutoscalerError('NOT_FOUND', `${id} is not a node group: ${WANTED}`);
    return deployment;
  }

  #setsOf({ metadata }: MachineDeployment): readonly MachineSet[] {
    return this.#caches.sets.store.byIndex(BY_CONTROLLER, metadata.uid);
  }

  #machinesOfSet({ metadata }: MachineSet): readonly Machine[] {
    return this.#caches.machines.store.byIndex(BY_CONTROLLER, metadata.uid);
  }

  #machinesOf(deployment: MachineDeployment): readonly Machine[] {
    return this.#setsOf(deployment).flatMap((set) => this.#machinesOfSet(set));
  }

  #deploymentOf(machine: Machine): MachineDeployment | undefined {
    const { namespace } = machine.metadata;
    const ownerOf = <T extends Machine | MachineSet>(object: T) => makeKey(namespace, controllerOf(object)?.name ?? '');
    const set = this.#caches.sets.store.get(ownerOf(machine));
    const deployment = set && this.#caches.deployments.store.get(ownerOf(set));
    const isOwn =
      set?.metadata.uid === controllerOf(machine)?.uid && deployment?.metadata.uid === (set && controllerOf(set)?.uid);
    return isOwn ? deployment : undefined;
  }

  #nodeOf({ metadata }: Machine): Node | undefined {
    const name = metadata.labels?.[Labels.Node];
    const node = name ? this.#caches.nodes?.store.get(name) : undefined;
    return node;
  }

  #machineOf({ name, providerID }: NamedNode): Machine | undefined {
    const requested = /^requested:\/\/(.+)$/.exec(providerID || name)?.[1];
    if (requested !== undefined) return this.#caches.machines.store.get(requested);
    const named = this.#caches.machines.store.byIndex(BY_NODE, name);
    if (named.length === 1) return named[0];
    // An instance without a registered Node has only a provider ID.
    const id = providerID || name;
    return [...this.#caches.machines.store.list()].find(({ spec }) => isInstance(spec.providerID, id));
  }

  #instanceOf(machine: Machine): GroupInstance {
    const node = this.#nodeOf(machine);
    const id = node?.spec.providerID || machine.spec.providerID || requestedId(machine);
    if (isTerminating(machine)) return { id, state: 'deleting' };
    const phase = phaseOf(machine);
    if (node || phase === 'Running' || phase === 'Unknown') return { id, state: 'running' };
    const { errorCode, description = '' } = machine.status?.lastOperation ?? {};
    if (!errorCode || errorCode === 'OK') return { id, state: 'creating' };
    return {
      id,
      state: 'creating',
      error: { code: errorCode, message: description, isCapacity: errorCode === 'ResourceExhausted' },
    };
  }
}

const WANTED = `a node group is a MachineDeployment with the annotations ${Annotations.AutoscalerMinSize} and ${Annotations.AutoscalerMaxSize}, two integers`;

function groupOf(deployment: MachineDeployment): NodeGroup | undefined {
  const sizes = autoscalerSizesOf(deployment);
  if (sizes === undefined || 'problem' in sizes) return undefined;
  const { minSize, maxSize } = sizes;
  const { metadata, spec } = deployment;
  const id = makeKey(metadata.namespace, metadata.name);
  return {
    id,
    minSize,
    maxSize,
    debug: `${id}: ${spec.replicas ?? 0} replicas, minimum ${minSize}, maximum ${maxSize}`,
  };
}

import { Labels } from '@mcm/api';
import { type CsiNode, type Informer, isReady, type KubeObject, type Node, type VolumeAttachment } from '@mcm/kube';

type Source<T extends KubeObject> = Pick<Informer<T>, 'onChange'>;

export interface AttachLimitSources {
  readonly nodes: Source<Node>;
  readonly csiNodes: Source<CsiNode>;
  readonly attachments: Source<VolumeAttachment>;
}

interface Room {
  free: number;
  /** The number of nodes on which the CSI driver has no limit. */
  boundless: number;
}

interface NodeState {
  zone: string;
  usable: boolean;
  limits: ReadonlyMap<string, number | undefined>;
  readonly attached: Map<string, number>;
}

/**
 * The scheduler can select any node of a zone, so mcm adds up the limits of all nodes in the zone. Source: CSINode,
 * `spec.drivers[].allocatable.count`.
 */
export class AttachLimits {
  readonly #nodes = new Map<string, NodeState>();
  readonly #rooms = new Map<string, Map<string, Room>>();

  constructor({ nodes, csiNodes, attachments }: AttachLimitSources) {
    nodes.onChange(({ type, object }) => {
      const there = type !== 'deleted';
      this.#change(object.metadata.name, (state) => {
        state.zone = zoneOf(object);
        state.usable = there && isUsable(object);
      });
    });
    csiNodes.onChange(({ type, object }) => {
      this.#change(object.metadata.name, (state) => {
        state.limits = type === 'deleted' ? new Map() : limitsOf(object);
      });
    });
    attachments.onChange((change) => {
      if (change.type === 'updated') this.#attach(change.old, -1);
      this.#attach(change.object, change.type === 'deleted' ? -1 : 1);
    });
  }

  #attach({ spec: { nodeName, attacher } }: VolumeAttachment, by: 1 | -1): void {
    this.#change(nodeName, ({ attached }) => {
      const count = (attached.get(attacher) ?? 0) + by;
      if (count > 0) attached.set(attacher, count);
      else attached.delete(attacher);
    });
  }

  #change(name: string, change: (state: NodeState) => void): void {
    const state = this.#nodes.get(name) ?? { zone: '', usable: false, limits: new Map(), attached: new Map() };
    this.#add(state, -1);
    change(state);
    this.#add(state, 1);
    if (state.usable || state.limits.size > 0 || state.attached.size > 0) this.#nodes.set(name, state);
    else this.#nodes.delete(name);
  }

  #add(state: NodeState, by: 1 | -1): void {
    if (!state.usable) return;
    const rooms = this.#rooms.get(state.zone) ?? new Map<string, Room>();
    this.#rooms.set(state.zone, rooms);
    for (const [driver, limit] of state.limits) {
      const room = rooms.get(driver) ?? { free: 0, boundless: 0 };
      rooms.set(driver, room);
      if (limit === undefined) room.boundless += by;
      else room.free += by * freeOf(state, driver, limit);
    }
  }

  /** Returns the number of volumes that a CSI driver may still attach to the other nodes in the node's zone. */
  roomOnOtherNodes(node: Node, driver: string): number | undefined {
    const zone = zoneOf(node);
    const room = this.#rooms.get(zone)?.get(driver);
    const own = this.#nodes.get(node.metadata.name);
    const limit = own?.usable && own.zone === zone && own.limits.has(driver) ? own.limits.get(driver) : NaN;
    const boundless = (room?.boundless ?? 0) - (limit === undefined ? 1 : 0);
    if (!room || boundless > 0) return undefined;
    return room.free - (own && limit !== undefined && !Number.isNaN(limit) ? freeOf(own, driver, limit) : 0);
  }
}

const freeOf = ({ attached }: NodeState, driver: string, limit: number): number =>
  Math.max(limit - (attached.get(driver) ?? 0), 0);

const zoneOf = ({ metadata }: Node): string => metadata.labels?.[Labels.Zone] ?? '';

const isUsable = (node: Node): boolean => !node.metadata.deletionTimestamp && !node.spec.unschedulable && isReady(node);

const limitsOf = ({ spec }: CsiNode): ReadonlyMap<string, number | undefined> =>
  new Map((spec.drivers ?? []).map(({ name, allocatable }) => [name, allocatable?.count ?? undefined]));

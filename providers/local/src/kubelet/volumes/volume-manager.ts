import {
  type Informer,
  ignoreNotFound,
  type KubeClient,
  type Node,
  type PersistentVolume,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
} from '@mcm/kube';
import type { Life } from '../node/life.ts';

export interface VolumeManagerOptions {
  readonly client: KubeClient;
  readonly life: Life;
  readonly nodeName: string;
  /** Returns the cache of all nodes. */
  readonly nodes: () => Informer<Node>;
  readonly outage: { failed(error: unknown): void; worked(): void };
  readonly onChange: () => void;
}

const RETRY_MS = 2_000;

/** The name of a PersistentVolumeClaim's volume. */
interface Claim {
  name: string | undefined;
  readonly namespace: string;
  readonly claimName: string;
}

/** Reports the used volumes of a node in `status.volumesInUse`. */
export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #claims = new Map<string, Claim>();
  #stopWatching: (() => void) | undefined;

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
  }

  sync(pods: readonly Pod[]): void {
    const wanted = new Set<string>();
    for (const pod of pods) for (const key of claimsOf(pod)) wanted.add(key);
    let changed = false;
    for (const key of this.#claims.keys()) {
      if (wanted.has(key)) continue;
      changed = this.#claims.delete(key) || changed;
    }
    for (const key of wanted) if (!this.#claims.has(key)) this.#follow(key);
    if (changed) this.#options.onChange();
  }

  /** Returns the sorted names of the used volumes. */
  inUse(): readonly string[] | undefined {
    if (!this.#stopWatching) return undefined;
    const names = [...this.#claims.values()].flatMap(({ name }) => (name ? [name] : []));
    return [...new Set(names)].sort();
  }

  attached(pod: Pod): boolean {
    const keys = claimsOf(pod);
    if (keys.length === 0) return true;
    const node = this.#options.nodes().store.get(this.#options.nodeName);
    const attached = new Set(node?.status?.volumesAttached?.map(({ name }) => name));
    return keys.every((key) => {
      const name = this.#claims.get(key)?.name;
      return name !== undefined && (name === '' || attached.has(name));
    });
  }

  close(): void {
    this.#stopWatching?.();
  }

  #follow(key: string): void {
    this.#watchNode();
    const [namespace = '', claimName = ''] = key.split('/');
    const claim: Claim = { name: undefined, namespace, claimName };
    this.#claims.set(key, claim);
    this.#lookUp(key, claim);
  }

  #lookUp(key: string, claim: Claim): void {
    const { life, outage, onChange } = this.#options;
    life.run(async () => {
      try {
        claim.name = await this.#volumeName(claim);
        outage.worked();
      } catch (error) {
        if (!life.over) outage.failed(error);
      }
      if (this.#claims.get(key) !== claim) return;
      // If the claim is not bound yet, the manager repeats the lookup, because a claim may be bound after its pod was
      // scheduled.
      if (claim.name === undefined) life.after(RETRY_MS, () => this.#lookUp(key, claim));
      else onChange();
    });
  }

  async #volumeName({ namespace, claimName }: Claim): Promise<string | undefined> {
    const { client, life } = this.#options;
    const { signal } = life;
    const claim = await ignoreNotFound(client.resource(persistentVolumeClaims, namespace).get(claimName, { signal }));
    if (!claim?.spec.volumeName) return undefined;
    const volume = await ignoreNotFound(client.resource(persistentVolumes).get(claim.spec.volumeName, { signal }));
    return volume && uniqueName(volume);
  }

  #watchNode(): void {
    if (this.#stopWatching) return;
    const { nodeName, nodes, onChange } = this.#options;
    this.#stopWatching = nodes().onChange(({ key }) => {
      if (key === nodeName) onChange();
    });
  }
}

/** Returns the keys `namespace/name` of the PersistentVolumeClaims of a pod. */
const claimsOf = (pod: Pod): string[] =>
  (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim ? [`${pod.metadata.namespace}/${persistentVolumeClaim.claimName}`] : [],
  );

/**
 * Returns the name by which the status of a Node lists a volume. The attach/detach controller attaches only CSI
 * volumes.
 */
const uniqueName = ({ spec }: PersistentVolume): string =>
  spec.csi ? `kubernetes.io/csi/${spec.csi.driver}^${spec.csi.volumeHandle}` : '';

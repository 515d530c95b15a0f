import { createClient } from '../client/create-client.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import { isNotFound, KubeError } from '../contract/errors.ts';
import type { Transport } from '../contract/transport.ts';
import { Age } from '../election/fence.ts';
import { permissionOf } from '../informer/permission.ts';
import { namespaces } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';

/** The UID of this namespace identifies a cluster, because the API server never deletes this namespace. */
const NAMESPACE = 'kube-system';
const MAX_AGE_MS = 60_000;
const TIME_LIMIT_MS = 10_000;

/** The error if the kubeconfig of a cluster now leads to another cluster. */
export class OtherCluster extends Error {
  override readonly name = 'OtherCluster';
}

export interface IdentityOptions {
  readonly userAgent: string;
  readonly clock: Clock;
  readonly source: string;
  readonly fix: string;
}

export class ClusterIdentity {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #source: string;
  readonly #fix: string;
  #uid: string | undefined;
  #checked: Age | undefined;
  #checking: Promise<void> | undefined;
  onOther: (error: OtherCluster) => void = () => undefined;

  constructor(transport: Transport, { userAgent, clock, source, fix }: IdentityOptions) {
    this.#clock = clock;
    this.#source = source;
    this.#fix = fix;
    this.#client = createClient({ transport, userAgent, clock, requestTimeoutMs: TIME_LIMIT_MS });
  }

  async expect(known: string | undefined): Promise<string> {
    this.#uid = known;
    await this.#check();
    return this.#uid ?? '';
  }

  now(): Promise<void> {
    return this.#check();
  }

  async recently(): Promise<void> {
    if (this.#checked !== undefined && this.#checked.ms < MAX_AGE_MS) return;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  async #check(): Promise<void> {
    const asked = new Age(this.#clock);
    const { metadata } = await this.#client.resource(namespaces).get(NAMESPACE, { onRetryAfter: 'throw' });
    const known = this.#uid ?? metadata.uid;
    if (metadata.uid !== known) {
      this.#checked = undefined;
      const error = new OtherCluster(
        `${this.#source} refers to another cluster: namespace kube-system has UID ${metadata.uid}, previously ${known}. Restore the kubeconfig, or, if the change is intended, ${this.#fix}`,
      );
      this.onOther(error);
      throw error;
    }
    this.#uid = known;
    this.#checked = asked;
  }
}

/**
 * Creates a transport that sends a request only if a recent check confirmed the identity of the cluster. After each
 * list and watch, a second check prevents objects of another cluster from entering the caches.
 */
export const identifiedTransport =
  (transport: Transport, identity: ClusterIdentity): Transport =>
  async (request) => {
    await identity.recently();
    const answer = await transport(request);
    const verb = permissionOf(request.method, request.path)?.verb;
    if (verb === 'list' || verb === 'watch') await identity.now();
    return answer;
  };

export async function recordedIdentity(
  control: KubeClient,
  lease: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { metadata } = await control.resource(leases, lease.namespace).get(lease.name, { signal });
    return metadata.annotations?.[LeaseAnnotations.TargetClusterUid];
  } catch (error) {
    if (isNotFound(error) && error instanceof KubeError) return undefined;
    throw error;
  }
}

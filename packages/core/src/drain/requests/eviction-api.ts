import { Labels } from '@mcm/api';
import {
  evictionRequests,
  evictions,
  isAlreadyExists,
  isNotFound,
  isTooManyRequests,
  type KubeClient,
  KubeError,
  type PodEviction,
} from '@mcm/kube';
import { type DrainMemory, NO_DRAIN_MEMORY, type PodRef, type Responder } from '../model/observation.ts';

const REQUESTER = 'machine.sapcloud.io/machine-controller';

/** mcm reads the discovery API again after this time. */
const KNOWN_FOR_MS = 3_600_000;

/** Drains that read Evictions within this time share one list request. */
const SHARED_FOR_MS = 5_000;

/**
 * Returns true if the API server permanently refuses a request, for example because the permission is missing. A busy
 * or failing API server proves nothing about EvictionRequests, so mcm repeats the request.
 */
const isRefusal = (error: unknown): boolean =>
  error instanceof KubeError && error.code >= 400 && error.code < 500 && !isTooManyRequests(error);

interface Asking {
  readonly now: Date;
  readonly signal: AbortSignal;
}

interface Discovered {
  readonly resources?: readonly { readonly name: string }[];
}

/**
 * The name of an EvictionRequest depends only on the pod, so a repeated create request finds the existing
 * EvictionRequest.
 */
const nameOf = ({ uid }: PodRef): string => `mcm-${uid}`;

/**
 * Reads from the cluster which pods have EvictionRequests, for a process that did not create these EvictionRequests.
 */
export async function requestedMemory(client: KubeClient, signal: AbortSignal, now: Date): Promise<DrainMemory> {
  const responders = await readResponders(client, signal);
  const asked = { at: now, result: 'asked', message: '', count: 1, budgets: '', requested: true } as const;
  const attempts = new Map([...responders.keys()].map((uid) => [uid, asked]));
  return { ...NO_DRAIN_MEMORY, attempts, responders, respondersAt: now };
}

/** Returns the responders for the Evictions that machine controllers requested, by the UID of the pod. */
async function readResponders(client: KubeClient, signal: AbortSignal): Promise<ReadonlyMap<string, Responder>> {
  const { items } = await client.resource(evictions).list({ labelSelector: REQUESTER, signal });
  const found = new Map<string, Responder>();
  for (const eviction of items) {
    const uid = eviction.spec.target?.pod?.uid;
    const responder = responderOf(eviction);
    if (uid && (found.get(uid)?.failed ?? true)) found.set(uid, responder);
  }
  return found;
}

function responderOf({ status }: PodEviction): Responder {
  const name = status?.targetResponders?.find(({ state }) => state === 'Active')?.name;
  const message = status?.responders?.find((responder) => responder.name === name)?.message;
  const failed = status?.conditions?.some((one) => one.type === 'Failed' && one.status === 'True') ?? false;
  return { name, message, failed };
}

/** Creates and reads EvictionRequests, an alpha API in Kubernetes 1.37. */
export class EvictionApi {
  readonly #client: KubeClient | undefined;
  #discovered: { readonly at: Date; readonly isServed: boolean } | undefined;
  #read: { readonly at: Date; readonly found: Promise<ReadonlyMap<string, Responder>> } | undefined;

  /** If `client` is undefined, mcm sends no EvictionRequests. */
  constructor(client: KubeClient | undefined) {
    this.#client = client;
  }

  state(now: Date): 'served' | 'unknown' | undefined {
    if (!this.#client) return undefined;
    const known = this.#discovered;
    if (!known || now.getTime() - known.at.getTime() >= KNOWN_FOR_MS) return 'unknown';
    return known.isServed ? 'served' : undefined;
  }

  async find({ now, signal }: Asking): Promise<void> {
    const resources = await this.#discover(signal);
    const isServed = ['evictionrequests', 'evictions'].every((name) => resources.some((one) => one.name === name));
    this.#discovered = { at: now, isServed };
  }

  async #discover(signal: AbortSignal): Promise<NonNullable<Discovered['resources']>> {
    const { group, version } = evictionRequests;
    try {
      const answer = await this.#client?.request<Discovered>('GET', `/apis/${group}/${version}`, { signal });
      return answer?.resources ?? [];
    } catch (error) {
      if (isRefusal(error)) return [];
      throw error;
    }
  }

  /**
   * Creates an EvictionRequest that the pod owns, so that the garbage collector deletes it after the pod.
   * @returns false if the API server refuses the EvictionRequest
   */
  async ask(pod: PodRef, machineUid: string, signal: AbortSignal): Promise<boolean> {
    const { namespace, name, uid } = pod;
    try {
      await this.#client?.resource(evictionRequests, namespace).create(
        {
          metadata: {
            name: nameOf(pod),
            namespace,
            labels: { [Labels.MachineUid]: machineUid },
            ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
          },
          spec: { intent: 'Eviction', requester: REQUESTER, target: { pod: { name, uid } } },
        },
        { signal },
      );
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return true;
      if (error instanceof KubeError && error.code !== 0) return false;
      throw error;
    }
  }

  async read({ now, signal }: Asking): Promise<ReadonlyMap<string, Responder>> {
    const client = this.#client;
    if (!client) return new Map();
    // After a change of the system clock, the last list may be old.
    if (this.#read && Math.abs(now.getTime() - this.#read.at.getTime()) < SHARED_FOR_MS) return this.#read.found;
    const found = readResponders(client, signal).catch((error: unknown) => {
      if (isRefusal(error)) return new Map<string, Responder>();
      this.#read = undefined;
      throw error;
    });
    this.#read = { at: now, found };
    return found;
  }

  async withdraw(machineUid: string, signal: AbortSignal): Promise<void> {
    const client = this.#client;
    if (!client) return;
    const labelSelector = `${Labels.MachineUid}=${machineUid}`;
    const listed = await client
      .resource(evictionRequests)
      .list({ labelSelector, signal })
      .catch((error: unknown) => {
        if (isNotFound(error)) return { items: [] };
        throw error;
      });
    for (const { metadata } of listed.items) {
      const { namespace, name, uid } = metadata;
      await client
        .resource(evictionRequests, namespace)
        .delete(name, { preconditions: { uid }, signal })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
    }
  }
}

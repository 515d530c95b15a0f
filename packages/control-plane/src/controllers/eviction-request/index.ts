import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { LIFECYCLE } from '../../kinds/alpha/index.ts';
import { type Api, allowing, hasCode } from '../client/api.ts';
import { EVICTION_REQUESTS, EVICTIONS, PODS, pathOf, type Resource } from '../client/resources.ts';
import { isDying, isTerminal, namespaceOf } from '../objects/fields.ts';
import { splitKey } from '../objects/keys.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import type { Informer } from '../runtime/informer.ts';
import {
  evictionStatus,
  isOver,
  isRequested,
  labelsOf,
  nextAttemptAt,
  ownersOf,
  requestStatus,
  statusDiffers,
  type TargetState,
} from './status.ts';

const targetOf = (object: ApiObject): Plain => look(object, 'spec', 'target', 'pod');

const targetKey = (object: ApiObject): string => `${namespaceOf(object)}/${text(targetOf(object), 'uid')}`;

interface Target extends TargetState {
  readonly namespace: string;
  readonly podName: string;
  readonly uid: string;
  readonly evictions: readonly ApiObject[];
}

class EvictionKeeper {
  readonly #api: Api;
  readonly #evictions: Informer;

  constructor(api: Api, evictions: Informer) {
    this.#api = api;
    this.#evictions = evictions;
  }

  /** Processes the eviction of a pod. */
  async sync(target: Target): Promise<Date | undefined> {
    const { pod, requests, evictions } = target;
    const running = evictions.find((eviction) => !isOver(eviction));
    for (const request of requests) {
      if (isOver(request) && running === undefined && !isRequested(target)) continue;
      await this.#writeStatus(EVICTION_REQUESTS, request, requestStatus(request, running ?? evictions.at(-1), target));
    }
    if (running === undefined) {
      if (pod && !isTerminal(pod) && isRequested(target)) await this.#begin(target);
      return undefined;
    }
    await this.#relate(running, target);
    const status = evictionStatus(running, target);
    // The changed status causes a watch event, which starts the next step.
    if (await this.#writeStatus(EVICTIONS, running, status)) return undefined;
    if (pod === undefined || isDying(pod)) return undefined;
    const at = nextAttemptAt(running);
    if (at > target.now) return at;
    await this.#writeStatus(EVICTIONS, running, evictionStatus(running, target, await this.#evict(target)));
    return undefined;
  }

  async #begin({ namespace, podName, uid, requests }: Target): Promise<void> {
    const stem = podName.slice(0, 240);
    let count = 0;
    while (this.#evictions.get(`${namespace}/${stem}-${count}`)) count++;
    const metadata = { name: `${stem}-${count}`, labels: labelsOf(requests), ownerReferences: ownersOf(requests) };
    const spec = { target: { pod: { name: podName, uid } } };
    const eviction = { apiVersion: LIFECYCLE, kind: 'Eviction', metadata, spec };
    await allowing(this.#api.create(EVICTIONS, eviction, { namespace }), 409);
  }

  /** Adds the labels of new EvictionRequests to the existing Eviction, and adds these EvictionRequests as owners. */
  async #relate(eviction: ApiObject, { requests }: Target): Promise<void> {
    const { namespace, name, resourceVersion, labels = {}, ownerReferences = [] } = eviction.metadata;
    const wanted = labelsOf(requests);
    const added = ownersOf(requests).filter(({ uid }) => !ownerReferences.some((owner) => owner.uid === uid));
    if (added.length === 0 && Object.entries(wanted).every(([key, value]) => labels[key] === value)) return;
    const metadata = { resourceVersion, labels: wanted, ownerReferences: [...ownerReferences, ...added] };
    await this.#api.patch(EVICTIONS, { namespace, name }, { metadata });
  }

  async #evict({ namespace, podName, uid }: Target): Promise<string> {
    const path = pathOf(PODS, { namespace, name: podName, subresource: 'eviction' });
    const deleteOptions = { preconditions: { uid } };
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: podName, namespace }, deleteOptions };
    try {
      await this.#api.call(path, 'POST', body);
      return 'The eviction was accepted';
    } catch (error) {
      if (error instanceof StatusError && !hasCode(error, 404)) return error.message;
      if (hasCode(error, 404)) return 'The pod no longer exists';
      throw error;
    }
  }

  /** Writes the status, and returns whether the write succeeded. */
  async #writeStatus(resource: Resource, object: ApiObject, status: Plain): Promise<boolean> {
    if (!statusDiffers(object, status)) return false;
    const { namespace, name, resourceVersion } = object.metadata;
    const patch = { metadata: { resourceVersion }, status };
    await allowing(this.#api.patch(resource, { namespace, name, subresource: 'status' }, patch), 404, 409);
    return true;
  }
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const requests = informer(EVICTION_REQUESTS);
  const evictions = informer(EVICTIONS);
  const pods = informer(PODS);
  const requestsOf = requests.index((request) => [targetKey(request)]);
  const evictionsOf = evictions.index((eviction) => [targetKey(eviction)]);
  const keeper = new EvictionKeeper(api, evictions);

  const work = queue(async (key) => {
    const { namespace, name: uid } = splitKey(key);
    const found = { requests: requestsOf(key), evictions: evictionsOf(key) };
    const podName = text(targetOf(found.requests[0] ?? found.evictions[0] ?? ({} as ApiObject)), 'name');
    if (podName === '') return;
    const named = pods.get(`${namespace}/${podName}`);
    const pod = named?.metadata.uid === uid ? named : undefined;
    const again = await keeper.sync({ ...found, namespace, podName, uid, pod, now: clock.now() });
    if (again !== undefined) work.addAt(key, again);
  });

  requests.onChange(({ object }) => work.add(targetKey(object)));
  evictions.onChange(({ object }) => work.add(targetKey(object)));
  pods.onChange(({ object }) => {
    const key = `${namespaceOf(object)}/${object.metadata.uid ?? ''}`;
    if (requestsOf(key).length + evictionsOf(key).length > 0) work.add(key);
  });
}

/**
 * As the default responder, the controller evicts the pods of the Evictions. Pods of this control plane have no field
 * `evictionResponders`, so no other responder can evict these pods.
 * @see kubernetes pkg/controller/evictionrequest
 */
export const evictionRequests: Controller = { name: 'evictionrequest', needs: LIFECYCLE, setup };

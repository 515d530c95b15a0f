import type { Clock } from '../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../client/api.ts';
import { PODS } from '../client/resources.ts';
import type { Announcer } from '../events/events.ts';
import { conditionOf, namespaceOf, observedOf } from '../objects/fields.ts';
import { BindingWriter, promisePatch } from '../volumes/binder/bind.ts';
import { SELECTED_NODE } from '../volumes/binder/claims.ts';
import type { VolumePlan } from './volumes.ts';

const aboutPod = (pod: ApiObject): ApiObject => ({ ...pod, apiVersion: 'v1', kind: 'Pod' });

export class SchedulerWriter {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #tell: Announcer;
  readonly #volumes: BindingWriter;

  constructor(api: Api, clock: Clock, tell: Announcer) {
    this.#api = api;
    this.#clock = clock;
    this.#tell = tell;
    this.#volumes = new BindingWriter(api);
  }

  /** Reports why no node is suitable for a pod. */
  async unschedulable(pod: ApiObject, message: string): Promise<void> {
    const old = conditionOf(pod, 'PodScheduled');
    if (old?.status === 'False' && old.reason === 'Unschedulable' && old.message === message) return;
    this.#tell(aboutPod(pod), 'Warning', 'FailedScheduling', 'Scheduling', message);
    const condition: Plain = {
      type: 'PodScheduled',
      ...observedOf(pod),
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: old?.status === 'False' ? old.lastTransitionTime : formatTime(this.#clock.now()),
      reason: 'Unschedulable',
      message,
    };
    const others = items(look(pod, 'status'), 'conditions').filter(({ type }) => type !== 'PodScheduled');
    const { namespace, name, resourceVersion } = pod.metadata;
    const patch = { metadata: { resourceVersion }, status: { conditions: [...others, condition] } };
    await allowing(this.#api.patch(PODS, { namespace, name, subresource: 'status' }, patch), 404, 409);
  }

  /** The function ignores a deleted pod, and a pod that already has a node. */
  async bind(pod: ApiObject, node: string): Promise<void> {
    const { name = '', uid = '' } = pod.metadata;
    const namespace = namespaceOf(pod);
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    };
    await this.#api.create(PODS, binding, { namespace, name, subresource: 'binding' });
    const message = `Successfully assigned ${namespace}/${name} to ${node}`;
    this.#tell(aboutPod(pod), 'Normal', 'Scheduled', 'Binding', message);
  }

  async prepareVolumes({ bindings, provisions }: VolumePlan, node: string): Promise<void> {
    for (const { volume, claim } of bindings) {
      const promise = promisePatch(volume, claim);
      if (promise !== undefined) await this.#volumes.patchVolume(volume, promise);
    }
    for (const claim of provisions) {
      if (claim.metadata.annotations?.[SELECTED_NODE] !== undefined) continue;
      await this.#volumes.patchClaim(claim, { metadata: { annotations: { [SELECTED_NODE]: node } } });
    }
  }
}

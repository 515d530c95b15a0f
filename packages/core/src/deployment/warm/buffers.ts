import { Annotations, counted, type MachineDeployment } from '@mcm/api';
import {
  type Controller,
  createController,
  createInformer,
  done,
  type Informer,
  type InformerRuntime,
  type Key,
  type KubeClient,
  keyOf,
  makeKey,
  type Outcome,
  refusalOf,
} from '@mcm/kube';
import { type ControllerContext, controllerParts } from '../../control/caches.ts';
import {
  type BufferNeed,
  bufferOf,
  type CapacityBuffer,
  capacityBuffers,
  machinesFor,
  type PodTemplate,
  podTemplates,
  templateOf,
} from '../../warm/buffer.ts';
import { DeploymentAccess } from '../writes/access.ts';

const BY_TEMPLATE = 'template';

export interface BufferCaches {
  readonly buffers: Informer<CapacityBuffer>;
  readonly templates: Informer<PodTemplate>;
}

/** Creates the caches of CapacityBuffers and PodTemplates. */
export const createBufferCaches = (target: KubeClient, runtime: InformerRuntime): BufferCaches => ({
  buffers: createInformer<CapacityBuffer>(target, capacityBuffers, {
    ...runtime,
    indexes: {
      [BY_TEMPLATE]: (buffer) => {
        const template = templateOf(buffer);
        return template === undefined ? [] : [template];
      },
    },
  }),
  templates: createInformer<PodTemplate>(target, podTemplates, runtime),
});

/** Copies the number of machines from a CapacityBuffer to each deployment that follows the buffer. */
class BufferFollower {
  readonly #context: ControllerContext;
  readonly #caches: BufferCaches;
  readonly #access: DeploymentAccess;
  readonly #followers = new Map<Key, Set<Key>>();
  readonly #problems = new Map<Key, string>();

  constructor(context: ControllerContext, caches: BufferCaches) {
    this.#context = context;
    this.#caches = caches;
    this.#access = new DeploymentAccess(context);
  }

  follows(key: Key, before: MachineDeployment | undefined, now: MachineDeployment | undefined): void {
    const [former, buffer] = [before && bufferOf(before), now && bufferOf(now)];
    if (former === buffer) return;
    const left = former === undefined ? undefined : this.#followers.get(former);
    left?.delete(key);
    if (former !== undefined && left?.size === 0) this.#followers.delete(former);
    if (buffer === undefined) return;
    this.#followers.set(buffer, (this.#followers.get(buffer) ?? new Set()).add(key));
  }

  of(buffer: Key): Iterable<Key> {
    return this.#followers.get(buffer) ?? [];
  }

  ofTemplate(template: Key): readonly Key[] {
    return this.#caches.buffers.store.byIndex(BY_TEMPLATE, template).flatMap((one) => [...this.of(keyOf(one))]);
  }

  ofClass(name: string): readonly Key[] {
    const { store } = this.#context.deployments;
    const uses = (key: Key): boolean => store.get(key)?.spec.template.spec.class.name === name;
    return this.all().filter(uses);
  }

  all(): readonly Key[] {
    return [...this.#followers.values()].flatMap((keys) => [...keys]);
  }

  readonly reconcile = async (key: Key, signal: AbortSignal): Promise<Outcome> => {
    const deployment = this.#context.deployments.store.get(key);
    const former = deployment?.metadata.annotations?.[Annotations.WarmBufferMachines];
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) {
      this.#problems.delete(key);
      return done;
    }
    const buffer = bufferOf(deployment);
    if (buffer === undefined) {
      this.#problems.delete(key);
      if (former !== undefined) await this.#write(deployment, null, signal);
      return done;
    }
    const need = this.#need(deployment, buffer);
    if ('unknown' in need) {
      this.#report(key, deployment, buffer, need.unknown);
      return done;
    }
    this.#problems.delete(key);
    if (former === String(need.machines)) return done;
    await this.#write(deployment, String(need.machines), signal);
    const message = `CapacityBuffer ${buffer} needs ${counted(need.machines, 'warm machine')}`;
    this.#context.recorder.event(deployment, 'Normal', 'CapacityBufferFollowed', message);
    return done;
  };

  #need({ metadata, spec }: MachineDeployment, reference: Key): BufferNeed {
    const { buffers, templates } = this.#caches;
    const { classes } = this.#context.safeguards;
    const unseen = refusalOf(buffers) ?? refusalOf(templates);
    if (unseen !== undefined) return { unknown: unseen };
    // Before the first list is complete, a buffer that is missing in the cache may exist on the API server.
    if (!buffers.synced || !templates.synced) return { unknown: 'the manager has not read the buffers yet' };
    const buffer = buffers.store.get(reference);
    if (buffer === undefined || buffer.metadata.deletionTimestamp !== undefined) return { machines: 0 };
    const machineClass = classes.store.get(makeKey(metadata.namespace, spec.template.spec.class.name ?? ''));
    return machinesFor({ buffer, template: templates.store.get(templateOf(buffer) ?? ''), machineClass });
  }

  #report(key: Key, deployment: MachineDeployment, buffer: Key, unknown: string): void {
    if (this.#problems.get(key) === unknown) return;
    const once = !this.#problems.has(key);
    this.#problems.set(key, unknown);
    const message = `The warm machines do not follow CapacityBuffer ${buffer}: ${unknown}`;
    this.#context.recorder.event(deployment, 'Warning', 'CapacityBufferUnknown', message, { once });
  }

  async #write(deployment: MachineDeployment, machines: string | null, signal: AbortSignal): Promise<void> {
    await this.#access.patch(deployment, { annotations: { [Annotations.WarmBufferMachines]: machines } }, signal);
  }
}

/** Creates the controller that adjusts the number of warm machines to CapacityBuffers. */
export function createBufferController(context: ControllerContext, caches: BufferCaches): Controller {
  const follower = new BufferFollower(context, caches);
  const controller = createController({
    name: 'capacity-buffer',
    concurrency: 1,
    reconcile: follower.reconcile,
    of: context.deployments,
    ...controllerParts(context),
  });
  controller.watch(context.deployments, (change) => {
    const before = change.type === 'updated' ? change.old : change.type === 'deleted' ? change.object : undefined;
    const now = change.type === 'deleted' ? undefined : change.object;
    follower.follows(change.key, before, now);
    const { annotations = {} } = change.object.metadata;
    const concerns = Annotations.WarmBuffer in annotations || Annotations.WarmBufferMachines in annotations;
    return concerns ? [change.key] : [];
  });
  const all = (): readonly Key[] => follower.all();
  controller.watch(caches.buffers, ({ key }) => follower.of(key), all);
  controller.watch(caches.templates, ({ key }) => follower.ofTemplate(key), all);
  controller.watch(context.safeguards.classes, ({ object }) => follower.ofClass(object.metadata.name), all);
  for (const cache of [caches.buffers, caches.templates])
    void cache.whenSynced().then(() => {
      for (const key of all()) controller.enqueue(key);
    });
  return controller;
}

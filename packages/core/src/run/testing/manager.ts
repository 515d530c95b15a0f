import { createMemoryLogger, type KubeClient, seededRandom, type VirtualClock } from '@mcm/kube';
import type { ControllerContext } from '../../control/caches.ts';
import { createDeploymentController } from '../../deployment/reconciler.ts';
import { managerContext } from '../../deployment/testing/manager-context.ts';
import { createSetController } from '../../set/reconciler.ts';
import { NAMESPACE } from './rig.ts';

export interface RunningManager {
  readonly context: ControllerContext;
  kill(): Promise<void>;
}

export function startManager({ clock, client }: { clock: VirtualClock; client: KubeClient }): RunningManager {
  const stop = new AbortController();
  const context = managerContext({
    client,
    namespace: NAMESPACE,
    clock,
    random: seededRandom(7),
    log: createMemoryLogger(),
    safeguards: {},
  });
  const parts: { run(signal: AbortSignal): Promise<void> }[] = [
    context.deployments,
    context.sets,
    context.machines,
    context.safeguards.classes,
    createSetController(context, { concurrency: 10 }),
    createDeploymentController(context, { concurrency: 10, protectNodesDuringRollout: true }),
    ...(context.nodes ? [context.nodes.informer] : []),
  ];
  const running = parts.map((part) => part.run(stop.signal));
  return {
    context,
    kill: async () => {
      stop.abort(new Error('killed'));
      await Promise.allSettled(running);
    },
  };
}

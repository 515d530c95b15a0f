import type { Clock, Logger, Random } from '@mcm/kube';
import { KubeletHost, type KubeletHostOptions, storedMemory } from '@mcm/provider-local';
import type { EmulatorStore } from '../server/kept.ts';
import type { Power } from './power.ts';

export interface HollowKubeletOptions extends Pick<KubeletHostOptions, 'connect' | 'nodeCluster' | 'defaults'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: EmulatorStore;
}

const SHAPE = { cpus: 4, memoryGi: 16, gpus: 0 };
const CONSOLE_LENGTH = 65_536;

/** Starts a simulated kubelet in each VM. The kubelet joins with the bootstrap token in the user data of the VM. */
export function hollowKubelets(options: HollowKubeletOptions): Power & { close(): Promise<void> } {
  const { store, ...rest } = options;
  const { log } = options;
  const host = new KubeletHost({ ...rest, memory: storedMemory(store) });
  const consoles = new Map<string, string>();
  return {
    on: (vm, resumed) => {
      const instance = {
        ...vm,
        name: vm.hostname,
        bootLatencyMs: 0,
        tags: {},
        state: 'running' as const,
        history: [],
        console: '',
      };
      const machineType = { name: vm.machineType, ...SHAPE };
      const console = (line: string): void => {
        log.info('Console', { vm: vm.id, line });
        consoles.set(vm.id, `${consoles.get(vm.id) ?? ''}${line}\n`.slice(-CONSOLE_LENGTH));
      };
      host.boot(instance, machineType, { resumed, orders: [], console });
    },
    notice: (id, text) => host.order(id, { notice: text }),
    console: (id) => consoles.get(id) ?? '',
    halt: (id) => {
      host.halt(id).catch((error: unknown) => log.error('Simulated kubelet did not stop', { vm: id, error }));
    },
    off: (id) => {
      consoles.delete(id);
      host.halt(id).then(
        () => host.forget(id),
        (error: unknown) => log.error('Simulated kubelet did not stop', { vm: id, error }),
      );
    },
    close: () => host.close(),
  };
}

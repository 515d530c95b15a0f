import { KubeletHost, type KubeletHostOptions } from '../kubelet/kubelet-host.ts';
import { type Cloud, type CloudOptions, createCloud } from './create-cloud.ts';
import { MemoryStore } from './store/memory-store.ts';
import { storedMemory } from './store/stored-memory.ts';

/** The options of a local cloud that runs in the process of the caller. */
export interface LocalCloudOptions extends Omit<CloudOptions, 'host'> {
  readonly kubelets: Pick<KubeletHostOptions, 'connect' | 'nodeCluster' | 'defaults'>;
}

/** A cloud with simulated kubelets on its instances. */
export interface LocalCloud extends Omit<Cloud, 'close'> {
  readonly kubelets: KubeletHost;
  /** Stops the cloud. The instances and kubelets continue in the next process that opens the store. */
  close(): Promise<void>;
}

/**
 * Creates a local cloud.
 * @throws {StoreError} if the cloud cannot read the content of the store
 */
export function createLocalCloud({ kubelets, ...options }: LocalCloudOptions): LocalCloud {
  const { clock, random, log } = options;
  const store = options.store ?? new MemoryStore();
  const host = new KubeletHost({ ...kubelets, clock, random, log, memory: storedMemory(store) });
  const cloud = createCloud({ ...options, store, host });
  const end = async (): Promise<void> => {
    cloud.pause();
    await host.close();
    cloud.close();
  };
  let ended: Promise<void> | undefined;
  return {
    ...cloud,
    kubelets: host,
    close: () => {
      ended ??= end();
      return ended;
    },
  };
}

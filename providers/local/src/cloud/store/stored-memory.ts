import type { KubeletMemory, KubeletState } from '../../kubelet/node/memory.ts';
import type { CloudStore } from './store.ts';

const KIND = 'kubelet';

/**
 * Stores the states of kubelets in the store of the cloud, in separate rows. A state includes the disk of the machine.
 */
export function storedMemory(store: Pick<CloudStore, 'load' | 'put' | 'remove'>): KubeletMemory {
  const states = new Map<string, KubeletState>();
  for (const { kind, id, body } of store.load()) if (kind === KIND) states.set(id, body as KubeletState);
  return {
    get: (id) => states.get(id),
    put: (id, state) => {
      states.set(id, state);
      store.put(KIND, id, state);
    },
    remove: (id) => {
      if (states.delete(id)) store.remove(KIND, id);
    },
  };
}

import { registerHooks } from 'node:module';
import { workerData } from 'node:worker_threads';
import type { LoadedMutant } from './runner.ts';

const { url: changed, find, replace } = workerData as LoadedMutant;

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (url !== changed) return loaded;
    const source = String(loaded.source);
    if (!source.includes(find)) throw new Error(`${url} does not contain: ${find}`);
    return { ...loaded, source: source.replace(find, () => replace) };
  },
});

await import('../swarm/worker.ts');

import { startControlPlane } from '@mcm/control-plane';
import {
  configMaps,
  createClient,
  createController,
  createInformer,
  createLogger,
  done,
  realClock,
  splitKey,
  userAgent,
} from '@mcm/kube';

// For another API server, use undiciTransport(await loadKubeconfig('kubeconfig')).
const plane = await startControlPlane();
const clock = realClock;
const runtime = { clock, random: { next: Math.random }, log: createLogger({ level: 'warn' }) };
const client = createClient({ transport: plane.transport, userAgent: userAgent('demo', '1.0', 'controllers'), clock });
const informer = createInformer(client, configMaps, { ...runtime, namespace: 'default' });
const stop = new AbortController();

const controller = createController({
  ...runtime,
  name: 'demo',
  concurrency: 10,
  reconcile: async (key) => {
    const object = informer.store.get(key);
    // Nothing to do, for example because the object does not exist. `again(60_000)` would reconcile again after a
    // minute.
    if (object === undefined || object.data?.seen === 'yes') return done;
    const { namespace, name } = splitKey(key);
    const patch = { type: 'merge', body: { data: { seen: 'yes' } } } as const;
    informer.recordWrite(await client.resource(configMaps, namespace).patch(name, patch));
    console.log(`${key} was seen`);
    stop.abort(); // A controller runs until its process ends.
    return done;
  },
});
controller.watch(informer, ({ key }) => [key]);

await client.resource(configMaps, 'default').create({ metadata: { name: 'hello', namespace: 'default' } });
await Promise.all([informer.run(stop.signal), controller.run(stop.signal)]);
await plane.close();

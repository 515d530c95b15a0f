/**
 * Tests an external controller for a custom kind. The controller uses only `@kubernetes/client-node`. After the
 * controller has created its objects, the program exits with 0.
 *
 *     Run `node --conditions=source examples/greeter.ts` in this repository, and `node greeter.ts` in other projects.
 */
import { CoreV1Api, CustomObjectsApi, KubeConfig, type KubernetesObject, makeInformer } from '@kubernetes/client-node';
// biome-ignore lint/style/noRestrictedImports: the package itself, as a stranger imports it
import { startControlPlane } from '@mcm/control-plane';

const GROUP = { group: 'example.dev', version: 'v1', plural: 'greetings' };
const namespace = 'default';

const greetings = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'greetings.example.dev' },
  spec: {
    group: GROUP.group,
    scope: 'Namespaced',
    names: { kind: 'Greeting', plural: GROUP.plural, singular: 'greeting' },
    versions: [
      {
        name: GROUP.version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['to'],
                properties: { to: { type: 'string', minLength: 1 } },
              },
            },
          },
        },
      },
    ],
  },
};

interface Greeting extends KubernetesObject {
  spec: { to: string };
}

/** Creates a ConfigMap with a text for every Greeting, and calls `onWritten` for each ConfigMap. */
async function runGreeter(config: KubeConfig, onWritten: (name: string) => void): Promise<() => Promise<void>> {
  const core = config.makeApiClient(CoreV1Api);
  const custom = config.makeApiClient(CustomObjectsApi);
  const path = `/apis/${GROUP.group}/${GROUP.version}/namespaces/${namespace}/${GROUP.plural}`;
  const informer = makeInformer<Greeting>(config, path, () =>
    custom.listNamespacedCustomObject({ ...GROUP, namespace }),
  );
  const greet = async ({ metadata: { name = '', uid = '' } = {}, spec }: Greeting): Promise<void> => {
    const owner = { apiVersion: `${GROUP.group}/${GROUP.version}`, kind: 'Greeting', name, uid };
    const body = { metadata: { name, ownerReferences: [owner] }, data: { text: `Hello, ${spec.to}!` } };
    await core.createNamespacedConfigMap({ namespace, body });
    onWritten(name);
  };
  informer.on('add', (greeting) => void greet(greeting));
  await informer.start();
  return () => informer.stop();
}

const plane = await startControlPlane({ port: 0, crds: [greetings] });
try {
  const config = new KubeConfig();
  config.loadFromString(plane.kubeconfig());
  const core = config.makeApiClient(CoreV1Api);
  const custom = config.makeApiClient(CustomObjectsApi);
  const written = Promise.withResolvers<string>();
  const stop = await runGreeter(config, written.resolve);

  // The control plane validates objects like a real API server, so the creation of this Greeting with an empty name
  // fails.
  const refused = await custom
    .createNamespacedCustomObject({
      ...GROUP,
      namespace,
      body: { apiVersion: 'example.dev/v1', kind: 'Greeting', metadata: { name: 'nobody' }, spec: {} },
    })
    .then(
      () => 'taken',
      (error: { code?: number }) => `refused with ${error.code}`,
    );
  process.stdout.write(`a greeting without a name is ${refused}\n`);

  await custom.createNamespacedCustomObject({
    ...GROUP,
    namespace,
    body: { apiVersion: 'example.dev/v1', kind: 'Greeting', metadata: { name: 'first' }, spec: { to: 'stranger' } },
  });
  const { data } = await core.readNamespacedConfigMap({ namespace, name: await written.promise });
  process.stdout.write(`${data?.text}\n`);
  await stop();
} finally {
  await plane.close();
}

import { crds, type MachineClass, type MachineDeployment, machineClasses, machineDeployments } from '@mcm/api';
import {
  type Draft,
  defined,
  ignoreNotFound,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  type ResourceDefinition,
  type Secret,
  secrets,
} from '@mcm/kube';
import type { Provider } from './clouds/index.ts';

export const FIRST_FLEET = {
  namespace: 'default',
  deployment: 'workers',
  machines: 3,
} as const;

const customResourceDefinitions: ResourceDefinition<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** Installs the CRDs. The promise resolves when the API server serves the CRDs. */
export async function installKinds(
  client: KubeClient,
  signal: AbortSignal,
  kinds: readonly { readonly metadata: { readonly name: string } }[] = crds,
): Promise<void> {
  const resource = client.resource(customResourceDefinitions);
  for (const crd of kinds) {
    await resource.patch(crd.metadata.name, { type: 'apply', body: crd, fieldManager: 'mcm', force: true }, { signal });
  }
}

export interface FirstCloud extends Pick<Provider, 'machineClass'> {
  readonly secretData: Readonly<Record<string, string>>;
}

/**
 * Writes the Secret of the cloud if its data has changed, for example the address. The class and the deployment are
 * created only once, because a user may change or delete them.
 */
export async function seedFleet(
  client: KubeClient,
  cloud: FirstCloud,
  options: {
    first: boolean;
    machines: number | undefined;
    nodeLabels?: Readonly<Record<string, string>> | undefined;
    signal: AbortSignal;
  },
): Promise<void> {
  await writeSecret(client, { secret: cloud.machineClass.secret, secretData: cloud.secretData }, options.signal);
  if (options.first) {
    await createOnce(client, machineClasses, firstClass(cloud.machineClass), options.signal);
    await createOnce(
      client,
      machineDeployments,
      firstDeployment(options.machines ?? FIRST_FLEET.machines, cloud.machineClass.name, options.nodeLabels),
      options.signal,
    );
  } else if (options.machines !== undefined) {
    const resource = client.resource(machineDeployments, FIRST_FLEET.namespace);
    await ignoreNotFound(
      resource.patch(
        FIRST_FLEET.deployment,
        { type: 'merge', body: { spec: { replicas: options.machines } } },
        { signal: options.signal },
      ),
    );
  }
}

export async function writeSecret(
  client: KubeClient,
  { secret: name, secretData }: { readonly secret: string; readonly secretData: FirstCloud['secretData'] },
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(secrets, FIRST_FLEET.namespace);
  const data = Object.fromEntries(
    Object.entries(secretData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  const live = await ignoreNotFound(resource.get(name, { signal }));
  if (!live) {
    await createOnce<Secret>(client, secrets, { ...head('v1', 'Secret', name), type: 'Opaque', data }, signal);
  } else if (Object.entries(data).some(([key, value]) => live.data?.[key] !== value)) {
    await resource.patch(name, { type: 'merge', body: { data } }, { signal });
  }
}

async function createOnce<T extends KubeObject>(
  client: KubeClient,
  definition: ResourceDefinition<T>,
  object: Draft<T>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.resource(definition, FIRST_FLEET.namespace).create(object, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

const head = (apiVersion: string, kind: string, name: string) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: FIRST_FLEET.namespace },
});
const GROUP_VERSION = 'machine.sapcloud.io/v1alpha1';

export const firstClass = ({ name, secret, ...own }: FirstCloud['machineClass']): Draft<MachineClass> => ({
  ...head(GROUP_VERSION, 'MachineClass', name),
  ...own,
  secretRef: { name: secret, namespace: FIRST_FLEET.namespace },
});

const firstDeployment = (
  replicas: number,
  machineClass: string,
  labels?: Readonly<Record<string, string>>,
): Draft<MachineDeployment> => ({
  ...head(GROUP_VERSION, 'MachineDeployment', FIRST_FLEET.deployment),
  spec: {
    replicas,
    selector: { matchLabels: { name: FIRST_FLEET.deployment } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels: { name: FIRST_FLEET.deployment } },
      spec: defined({
        class: { kind: 'MachineClass', name: machineClass },
        nodeTemplate: labels ? { metadata: { labels } } : undefined,
      }),
    },
  },
});

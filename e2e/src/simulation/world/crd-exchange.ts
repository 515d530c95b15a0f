import { crds } from '@mcm/api';
import { isNotFound, type KubeClient, type KubeObject, type ResourceDefinition } from '@mcm/kube';

interface Definition extends KubeObject {
  spec: {
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
  };
}

const definitions: ResourceDefinition<Definition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

/** The names of the CRDs whose versions can change. */
export const EXCHANGED = crds
  .map(({ metadata }) => metadata.name)
  .filter((name) => name.endsWith('.machine.sapcloud.io'));
const OTHER_VERSION = 'v1alpha2';

/** Adds a served version to a CRD, or removes one. */
export async function exchangeVersion(admin: KubeClient, name: string): Promise<void> {
  const all = admin.resource(definitions);
  const { spec } = await all.get(name);
  const others = spec.versions.filter((version) => version.name !== OTHER_VERSION);
  const [stored] = others;
  const added =
    others.length === spec.versions.length && stored ? [{ ...stored, name: OTHER_VERSION, storage: false }] : [];
  await all.patch(name, { type: 'merge', body: { spec: { versions: [...others, ...added] } } });
}

export async function isGone(admin: KubeClient, name: string): Promise<boolean> {
  try {
    await admin.resource(definitions).get(name);
    return false;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return true;
  }
}

export async function deleteCrd(admin: KubeClient, name: string): Promise<void> {
  await admin.resource(definitions).delete(name);
}

export async function createCrd(admin: KubeClient, name: string): Promise<void> {
  const definition = crds.find(({ metadata }) => metadata.name === name);
  if (!definition) throw new Error(`CRD ${name} does not exist`);
  await admin.resource(definitions).create(definition);
}

import { crds } from '../crd/crds.ts';

/**
 * The kinds with every field allowed and none required, as a server has them that stores what ours refuse. Without `scale`, whose field a
 * server judges whatever the schema says.
 */
export const crdsWithoutRules = () =>
  crds.map((crd) => ({
    ...crd,
    spec: {
      ...crd.spec,
      versions: crd.spec.versions.map((version) => ({
        ...version,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: { status: {} },
      })),
    },
  }));

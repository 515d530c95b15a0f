import { crds } from '../crd/crds.ts';

/**
 * Returns the CRDs with every field allowed and none required. A server with these stores objects that the CRDs of mcm
 * refuse. They have no `scale` subresource, because a server always validates its field.
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

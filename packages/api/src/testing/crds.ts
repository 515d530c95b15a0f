import { crds } from '../crd/crds.ts';

/**
 * Returns CRDs that allow every field and require no field. A server with these CRDs stores objects that the CRDs of
 * mcm refuse. The CRDs have no `scale` subresource, because a server always validates the fields of this subresource.
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

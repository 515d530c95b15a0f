import { crds } from '../crd/crds.ts';

/**
 * The kinds with every field allowed and none required, as on a server that stores objects which our CRDs refuse. Without
 * `scale`, because a server always validates its field.
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

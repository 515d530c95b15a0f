import { expect, it } from 'vitest';
import { builtinKinds } from '../kinds/index.ts';
import { storageVersionHash } from './documents.ts';

// The expected hashes were recorded from kube-apiserver 1.36.3.
it.each([
  ['autoscaling', 'v1', 'horizontalpodautoscalers', 'qwQve8ut294='],
  ['admissionregistration.k8s.io', 'v1', 'mutatingadmissionpolicies', 'LYmCf+UMVdg='],
  ['admissionregistration.k8s.io', 'v1', 'mutatingadmissionpolicybindings', '90V5FRZZ3Zg='],
  ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions', 'jfWCUB31mvA='],
])('%s/%s %s has the hash of the version in which it is stored', (group, version, plural, hash) => {
  const kind = builtinKinds.find((one) => one.group === group && one.version === version && one.plural === plural);
  expect(kind && storageVersionHash(kind)).toBe(hash);
});

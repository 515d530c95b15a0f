import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { builtinKinds } from '../../kinds/index.ts';
import { typeWarnings } from './policy-status.ts';

const policy = (validations: object[], resources = ['deployments'], apiGroups = ['apps']): ApiObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'p' },
  spec: {
    matchConstraints: { resourceRules: [{ apiGroups, apiVersions: ['v1'], operations: ['CREATE'], resources }] },
    validations,
  },
});

test('an expression is checked with the types of its kinds', () => {
  const validations = [{ expression: 'object.spec.replicas > "x"' }, { expression: 'object.spec.replicas > 1' }];
  expect(typeWarnings(policy(validations), builtinKinds)).toEqual([
    {
      fieldRef: 'spec.validations[0].expression',
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > \"x\"\n | .....................^\n",
    },
  ]);
});

test('errors are reported per kind, also in message expressions', () => {
  const validations = [{ expression: 'true', messageExpression: 'object.spec.replicas + "x"' }];
  const [warning, ...others] = typeWarnings(policy(validations, ['deployments', 'replicasets']), builtinKinds);
  expect(others).toEqual([]);
  expect(warning?.['fieldRef']).toBe('spec.validations[0].messageExpression');
  expect(String(warning?.['warning']).match(/Kind=\w+/g)).toEqual(['Kind=Deployment', 'Kind=ReplicaSet']);
  expect(String(warning?.['warning'])).toMatch(/\^\n\napps\/v1, Kind=ReplicaSet/);
});

test('a wildcard is not checked', () => {
  expect(typeWarnings(policy([{ expression: 'object.none' }], ['*'], ['*']), builtinKinds)).toEqual([]);
});

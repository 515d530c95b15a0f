import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { validatingPolicyStrategy } from './policies.ts';
import { validatingWebhookStrategy } from './webhooks.ts';

const context = { now: new Date(0), subresource: '', userName: 'u', newUid: () => 'uid' };
const RULE = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };

function problems(spec: Record<string, unknown>): string[] {
  const policy: ApiObject = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'x' },
    spec: { matchConstraints: { resourceRules: [RULE] }, validations: [{ expression: 'true' }], ...spec },
  };
  validatingPolicyStrategy.setDefaults?.(policy);
  const causes = validatingPolicyStrategy.validate?.(policy, context) ?? [];
  return causes.map(({ field, message }) => `${field}: ${message?.split('\n')[0]}`);
}

const invalid = (field: string, value: string, why: string) =>
  `${field}: Invalid value: ${JSON.stringify(value)}: ${why}`;
const FAILED = 'compilation failed: ERROR: <input>:1:';

test.each<[title: string, spec: Record<string, unknown>, expected: string[]]>([
  ['fine', { variables: [{ name: 'a', expression: '1' }], validations: [{ expression: 'variables.a == 1' }] }, []],
  [
    'a validation of another type, and one that is not known',
    { validations: [{ expression: '1 + 1' }, { expression: 'object.x' }] },
    [
      invalid('spec.validations[0].expression', '1 + 1', 'must evaluate to bool but got int'),
      invalid('spec.validations[1].expression', 'object.x', 'must evaluate to bool but got dyn'),
    ],
  ],
  [
    'nothing to evaluate',
    { validations: [{ expression: ' ' }] },
    ['spec.validations[0].expression: Required value: expression is not specified'],
  ],
  [
    'a message of another type',
    { validations: [{ expression: 'true', messageExpression: '1', message: 'a\nb', reason: 'X' }] },
    [
      invalid('spec.validations[0].message', 'a\nb', 'must not contain line breaks'),
      invalid('spec.validations[0].messageExpression', '1', 'must evaluate to string but got int'),
      'spec.validations[0].reason: Unsupported value: "X": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
  ],
  [
    'the request has types',
    { validations: [{ expression: 'request.userInfo.username == 1' }] },
    [
      invalid(
        'spec.validations[0].expression',
        'request.userInfo.username == 1',
        `${FAILED}27: found no matching overload for '_==_' applied to '(string, int)'`,
      ),
    ],
  ],
  [
    'parameters that are not declared',
    { validations: [{ expression: 'params.x == 1' }] },
    [
      invalid(
        'spec.validations[0].expression',
        'params.x == 1',
        `${FAILED}1: undeclared reference to 'params' (in container '')`,
      ),
    ],
  ],
  [
    'parameters that are',
    { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, validations: [{ expression: 'params.x == 1' }] },
    [],
  ],
  [
    'variables that use later ones, and their types',
    {
      variables: [
        { name: 'b', expression: 'variables.c' },
        { name: '1', expression: '1' },
        { name: 'c', expression: '"x"' },
      ],
      validations: [{ expression: 'variables.c' }],
    },
    [
      invalid(
        'spec.variables[0].expression',
        'variables.c',
        `${FAILED}1: undeclared reference to 'variables' (in container '')`,
      ),
      invalid('spec.variables[1].name', '1', 'must be a valid CEL identifier'),
      invalid('spec.validations[0].expression', 'variables.c', 'must evaluate to bool but got string'),
    ],
  ],
  [
    'conditions',
    { matchConditions: [{ name: 'a', expression: '1' }, { name: 'a', expression: 'true' }, { expression: '' }] },
    [
      invalid('spec.matchConditions[0].expression', '1', 'must evaluate to bool but got int'),
      'spec.matchConditions[1].name: Duplicate value: "a"',
      'spec.matchConditions[2].expression: Required value',
      'spec.matchConditions[2].name: Required value',
    ],
  ],
  [
    'audit annotations',
    {
      auditAnnotations: [
        { key: 'k', valueExpression: '1' },
        { key: 'k', valueExpression: 'null' },
      ],
    },
    [
      invalid(
        'spec.auditAnnotations[0].valueExpression',
        '1',
        'must evaluate to one of [string null_type] but got int',
      ),
      'spec.auditAnnotations[1].key: Duplicate value: "k"',
    ],
  ],
])('%s', (_title, spec, expected) => {
  expect(problems(spec)).toEqual(expected);
});

test('conditions of webhooks know no variables of policies', () => {
  const webhook = {
    name: 'a.example.dev',
    clientConfig: { url: 'https://example.dev' },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    matchConditions: [{ name: 'c', expression: 'variables.x' }],
  };
  const object: ApiObject = { apiVersion: 'v1', kind: 'V', metadata: { name: 'x' }, webhooks: [webhook] };
  validatingWebhookStrategy.setDefaults?.(object);
  expect(validatingWebhookStrategy.validate?.(object, context)).toMatchObject([
    { field: 'webhooks[0].matchConditions[0].expression', message: expect.stringContaining('undeclared reference') },
  ]);
});

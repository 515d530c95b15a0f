import { invalidValue, requiredValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { child, items, look, type Plain, preset, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { isMutationType, messageType } from '../../schema/cel/aggregates.ts';
import type { Declaration } from '../../schema/cel/compile.ts';
import { type CelType, listOf } from '../../schema/cel/types/types.ts';
import { strategy } from '../base/strategy.ts';
import { conditionCauses, mutationCauses, policyVariables, variableCauses } from './expressions.ts';
import { constraintFindings } from './match-rules.ts';
import { defaultConstraints, formCauses, paramFindings } from './policies.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const REINVOCATION_POLICIES = ['IfNeeded', 'Never'];
const OBJECT = messageType('Object');

/** The field that contains the patch, and the result type of its expression, for each patch type. */
const PATCHES: Readonly<Record<string, { readonly field: string; readonly other: string; readonly type: CelType }>> = {
  ApplyConfiguration: { field: 'applyConfiguration', other: 'jsonPatch', type: OBJECT },
  JSONPatch: { field: 'jsonPatch', other: 'applyConfiguration', type: listOf(messageType('JSONPatch')) },
};

/** Validates the operations of a policy. A policy can mutate only requests that create, update or connect an object. */
const operationCauses = (match: unknown, path: string): StatusCause[] =>
  items(match as Plain, 'resourceRules')
    .flatMap((rule) => strings(rule, 'operations'))
    .filter((operation) => !OPERATIONS.includes(operation))
    .map((operation) => unsupportedValue(`${path}.resourceRules.operations`, operation, OPERATIONS));

function patchCauses(mutation: Plain, at: string, variables: readonly Declaration[]): StatusCause[] {
  const patchType = text(mutation, 'patchType');
  if (patchType === '') return [requiredValue(`${at}.patchType`)];
  const patch = Object.hasOwn(PATCHES, patchType) ? PATCHES[patchType] : undefined;
  if (patch === undefined) return [unsupportedValue(`${at}.patchType`, patchType, Object.keys(PATCHES))];
  const { field, other, type } = patch;
  const holder = mutation[field];
  const causes = isRecord(holder)
    ? mutationCauses(holder, `${at}.${field}`, type, variables, isMutationType)
    : [requiredValue(`${at}.${field}`, `must be specified when patchType is ${patchType}`)];
  if (mutation[other] !== undefined) {
    causes.push(invalidValue(`${at}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`));
  }
  return causes;
}

function reinvocationCauses(spec: Plain): StatusCause[] {
  const policy = text(spec, 'reinvocationPolicy');
  if (policy === '') return [requiredValue('spec.reinvocationPolicy')];
  if (REINVOCATION_POLICIES.includes(policy)) return [];
  return [unsupportedValue('spec.reinvocationPolicy', policy, REINVOCATION_POLICIES)];
}

export const mutatingPolicyStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    preset(spec, 'failurePolicy', 'Fail');
    defaultConstraints(spec.matchConstraints);
  },
  causes(object) {
    const spec = look(object, 'spec');
    const variables = policyVariables(spec.paramKind !== undefined);
    const mutations = items(spec, 'mutations');
    return [
      ...formCauses(spec),
      ...operationCauses(spec.matchConstraints, 'spec.matchConstraints'),
      ...conditionCauses(spec, 'spec.matchConditions', variables),
      ...variableCauses(spec, variables),
      ...(mutations.length === 0 ? [requiredValue('spec.mutations', 'mutations must contain at least one item')] : []),
      ...mutations.flatMap((mutation, index) => patchCauses(mutation, `spec.mutations[${index}]`, variables)),
      ...reinvocationCauses(spec),
    ];
  },
});

export const mutatingBindingStrategy = strategy({
  setDefaults: (object) => defaultConstraints(look(object, 'spec').matchResources),
  causes(object) {
    const spec = look(object, 'spec');
    const findings = new Findings();
    const name = text(spec, 'policyName');
    if (name === '') findings.required('spec.policyName');
    else findings.problems('spec.policyName', name, subdomainProblems(name));
    paramFindings(findings, spec.paramRef);
    if (isRecord(spec.matchResources)) constraintFindings(findings, spec.matchResources, 'spec.matchResources');
    return [...findings.causes, ...operationCauses(spec.matchResources, 'spec.matchResources')];
  },
});

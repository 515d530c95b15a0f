import { apiVersionOf, type KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { kindsOfCrd } from '../../crd/index.ts';
import { builtinKinds } from '../../kinds/index.ts';
import { compileCel, type Declaration } from '../../schema/cel/compile.ts';
import { CelCompileError } from '../../schema/cel/syntax/ast.ts';
import { DYN, typeOfNode } from '../../schema/cel/types/types.ts';
import { nodeOf } from '../../schema/model/node.ts';
import { allowing } from '../client/api.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, type Resource } from '../client/resources.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

const POLICIES: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
};

const MAX_TYPES = 10;

/** Returns the kinds that the rules of a policy select. The function skips resources with wildcards. */
function kindsOf(policy: ApiObject, kinds: readonly KindDefinition[]): KindDefinition[] {
  const rules = items(look(policy, 'spec', 'matchConstraints'), 'resourceRules');
  const found = rules.flatMap((rule) =>
    kinds.filter(
      ({ group, version, plural }) =>
        strings(rule, 'apiGroups').includes(group) &&
        strings(rule, 'apiVersions').includes(version) &&
        strings(rule, 'resources').includes(plural),
    ),
  );
  return [...new Set(found)].slice(0, MAX_TYPES);
}

function declarationsFor(kind: KindDefinition): Declaration[] {
  const node = nodeOf(kind.schema ?? {});
  const type = kind.schema === undefined ? DYN : typeOfNode(node, kind.kind, false);
  const object = ['object', 'oldObject'].map((name) => ({ name, type, node }));
  const others = ['request', 'params', 'namespaceObject', 'authorizer', 'variables'];
  return [...object, ...others.map((name) => ({ name, type: DYN }))];
}

function expressionsOf(policy: ApiObject): [field: string, expression: string][] {
  return items(look(policy, 'spec'), 'validations').flatMap((validation, index) =>
    ['expression', 'messageExpression']
      .filter((field) => text(validation, field) !== '')
      .map((field): [string, string] => [`spec.validations[${index}].${field}`, text(validation, field)]),
  );
}

export function typeWarnings(policy: ApiObject, kinds: readonly KindDefinition[]): Plain[] {
  const about = kindsOf(policy, kinds).map((kind) => ({ kind, declarations: declarationsFor(kind) }));
  return expressionsOf(policy).flatMap(([fieldRef, expression]) => {
    const warnings = about.flatMap(({ kind, declarations }) => {
      try {
        compileCel(expression, declarations);
        return [];
      } catch (error) {
        if (!(error instanceof CelCompileError)) throw error;
        return [`${apiVersionOf(kind)}, Kind=${kind.kind}: ${error.message}\n`];
      }
    });
    return warnings.length === 0 ? [] : [{ fieldRef, warning: warnings.join('\n') }];
  });
}

const NAME = 'validatingadmissionpolicy-status';
const API_VERSION = 'admissionregistration.k8s.io/v1';

function setup({ api, informer, queue }: ControllerContext): void {
  const policies = informer(POLICIES);
  const definitions = informer(CUSTOM_RESOURCE_DEFINITIONS);
  const work = queue(async (name) => {
    const policy = policies.get(name);
    if (policy === undefined) return;
    const { generation } = policy.metadata;
    if (number(look(policy, 'status'), 'observedGeneration') === generation) return;
    const kinds = [...builtinKinds, ...[...definitions.all()].flatMap(kindsOfCrd)];
    const expressionWarnings = typeWarnings(policy, kinds);
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
    const status = { observedGeneration: generation, typeChecking };
    const applied = { apiVersion: API_VERSION, kind: 'ValidatingAdmissionPolicy', metadata: { name }, status };
    await allowing(api.apply(POLICIES, applied, NAME, 'status'), 404);
  });
  policies.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(object.metadata.name ?? '');
  });
}

/**
 * Writes type errors of policies to their status.
 * @see kubernetes pkg/controller/validatingadmissionpolicystatus
 */
export const policyStatus: Controller = { name: NAME, setup };

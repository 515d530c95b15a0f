import { invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, look, preset, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { type Strategy, strategy } from '../base/strategy.ts';

const NAME_LABEL = 'kubernetes.io/metadata.name';

function labelWithName(namespace: ApiObject): void {
  const { name } = namespace.metadata;
  if (name === undefined || name === '') return;
  namespace.metadata.labels = { ...namespace.metadata.labels, [NAME_LABEL]: name };
}

function finalizerCauses(namespace: ApiObject, at = (_index: number): string => 'spec.finalizers'): StatusCause[] {
  const findings = new Findings();
  for (const [index, name] of strings(namespace.spec, 'finalizers').entries()) {
    const problems = qualifiedNameProblems(name);
    findings.problems(at(index), name, problems);
    if (name !== 'kubernetes' && !name.includes('/')) {
      const why = 'name is neither a standard finalizer name nor is it fully qualified';
      findings.invalid(at(index), name, why);
    }
  }
  return findings.causes;
}

function phaseCauses({ metadata, status }: ApiObject): StatusCause[] {
  const isDying = metadata.deletionTimestamp !== undefined;
  const phase = text(look(status), 'phase');
  if (phase === (isDying ? 'Terminating' : 'Active')) return [];
  const why = isDying
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  return [invalidValue('status.Phase', phase, why)];
}

const common = strategy({
  causes: (namespace) => finalizerCauses(namespace),
  statusCauses: phaseCauses,
  setDefaults(namespace) {
    labelWithName(namespace);
    preset(child(namespace, 'status'), 'phase', 'Active');
  },
  prepareForCreate(namespace) {
    labelWithName(namespace);
    const given = strings(namespace.spec, 'finalizers');
    namespace.spec = { finalizers: given.includes('kubernetes') ? given : [...given, 'kubernetes'] };
    namespace.status = { phase: 'Active' };
  },
  prepareForUpdate(namespace, old, { subresource }) {
    labelWithName(namespace);
    if (subresource !== 'finalize' && old.spec !== undefined) namespace.spec = old.spec;
  },
  validateName: labelProblems,
});

export const namespaceStrategy: Strategy = {
  ...common,
  validateUpdate: (namespace, old, context) =>
    context.subresource === 'finalize'
      ? finalizerCauses(namespace, (index) => `spec.finalizers[${index}]`)
      : (common.validateUpdate?.(namespace, old, context) ?? []),
};

import { invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, labels, look, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { labelFindings } from '../base/selector.ts';
import type { Strategy } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';
import { resourceFindings } from '../pod/rules/resources.ts';
import { tolerationCauses } from '../pod/validate.ts';

/** The handler of a RuntimeClass is immutable (`ValidateRuntimeClass`). */
function causesOf(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const handler = text(object, 'handler');
  if (handler === '') findings.required('handler');
  else findings.problems('handler', handler, labelProblems(handler));
  if (object.overhead !== undefined) {
    resourceFindings(findings, { limits: look(object, 'overhead', 'podFixed') }, 'overhead');
  }
  const scheduling = look(object, 'scheduling');
  labelFindings(findings, labels(scheduling, 'nodeSelector'), 'scheduling.nodeSelector');
  const tolerations = items(scheduling, 'tolerations');
  findings.add(tolerationCauses(tolerations, 'scheduling.tolerations'));
  const seen = new Set<string>();
  for (const [index, toleration] of tolerations.entries()) {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    const id = JSON.stringify([key, operator, value, effect]);
    if (seen.has(id)) {
      findings.duplicate(`scheduling.tolerations[${index}]`, internalForm('Toleration', toleration));
    }
    seen.add(id);
  }
  return findings.causes;
}

export const runtimeClassStrategy: Strategy = {
  validate: causesOf,
  validateUpdate: (object, old) => [
    ...causesOf(object),
    ...(object.handler === old.handler ? [] : [invalidValue('handler', object.handler ?? '', 'field is immutable')]),
  ],
};

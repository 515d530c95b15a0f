import { invalidValue } from '../../registry/errors.ts';
import { labelProblems } from '../../registry/names.ts';
import { Findings } from '../findings.ts';
import { text } from '../plain.ts';
import { strategy } from '../workloads/apps.ts';

/** A runtime class names the handler that runs its pods, once and for all (`ValidateRuntimeClass`). */
export const runtimeClassStrategy = strategy({
  causes(object) {
    const findings = new Findings();
    const handler = text(object, 'handler');
    if (handler === '') findings.required('handler');
    else findings.problems('handler', handler, labelProblems(handler));
    return findings.causes;
  },
  change: (object, old) =>
    object.handler === old.handler ? [] : [invalidValue('handler', object.handler ?? '', 'field is immutable')],
});

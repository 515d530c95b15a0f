import { negativeCauses } from '../../apimachinery/errors/causes.ts';
import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, labels, look } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { strategy, withStatus } from '../base/strategy.ts';
import { statusCountCauses } from './status-counts.ts';
import { defaultTemplate, podTemplateCauses, templateCauses } from './template.ts';

/** Validates a PodTemplate, whose pods may have any restart policy. */
export const podTemplateStrategy = strategy({
  setDefaults: (object) => defaultTemplate(object),
  causes: (object) => podTemplateCauses(look(object, 'template'), 'template'),
});

/** If the selector or the labels of a ReplicationController are missing, copies the labels of the template. */
function defaultController(object: ApiObject): void {
  const spec = child(object, 'spec');
  spec.replicas ??= 1;
  if (spec.template === undefined) return;
  const own = labels(look(spec, 'template', 'metadata'), 'labels');
  if (Object.keys(own).length > 0) {
    if (Object.keys(look(spec, 'selector')).length === 0) spec.selector = { ...own };
    if (Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = { ...own };
  }
  defaultTemplate(spec);
}

function controllerCauses(object: ApiObject): StatusCause[] {
  const spec = look(object, 'spec');
  const selector = look(spec, 'selector');
  const causes = [
    ...negativeCauses('spec.minReadySeconds', spec.minReadySeconds),
    ...(Object.keys(selector).length === 0 ? [requiredValue('spec.selector')] : []),
    ...negativeCauses('spec.replicas', spec.replicas),
  ];
  if (spec.template === undefined) return [...causes, requiredValue('spec.template')];
  const meta = look(spec, 'template', 'metadata');
  const own = labels(meta, 'labels');
  const matched = Object.entries(selector).filter(([key, value]) => own[key] === value);
  if (!jsonEquals(Object.fromEntries(matched), selector)) {
    const why = '`selector` does not match template `labels`';
    causes.push(invalidValue('spec.template.metadata.labels', given(meta, 'labels'), why));
  }
  return [...causes, ...templateCauses(spec, ['Always'], 'ReplicationController')];
}

export const replicationControllerStrategy = strategy({
  setDefaults: defaultController,
  prepareForCreate: withStatus({ replicas: 0 }),
  causes: controllerCauses,
  statusCauses: statusCountCauses({
    fields: ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'],
    partsOfReplicas: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
    ready: 'readyReplicas',
  }),
});

import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { allowing } from '../client/api.ts';
import { FLOW_SCHEMAS, PRIORITY_LEVELS } from '../client/resources.ts';
import { conditionOf } from '../objects/fields.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';

const MANAGER = 'api-priority-and-fairness-config-consumer-v1';

const levelOf = (schema: ApiObject): string => text(look(schema, 'spec', 'priorityLevelConfiguration'), 'name');

/** Returns the condition Dangling of a FlowSchema. The condition is True if the priority level does not exist. */
function danglingCondition(schema: ApiObject, isThere: boolean): Plain {
  const about = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(levelOf(schema))}`;
  return isThere
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${about} and it exists` }
    : { type: 'Dangling', status: 'True', reason: 'NotFound', message: `${about} but there is no such object` };
}

function setup({ api, clock, informer, queue }: ControllerContext): void {
  const schemas = informer(FLOW_SCHEMAS);
  const levels = informer(PRIORITY_LEVELS);
  const schemasOf = schemas.index((schema) => [levelOf(schema)]);

  const work = queue(async (name) => {
    const schema = schemas.get(name);
    if (schema === undefined) return;
    const condition = danglingCondition(schema, levels.get(levelOf(schema)) !== undefined);
    const old = conditionOf(schema, 'Dangling');
    if (['status', 'reason', 'message'].every((field) => old?.[field] === condition[field])) return;
    const lastTransitionTime = formatTime(clock.now());
    const { apiVersion, kind } = schema;
    const applied = {
      apiVersion,
      kind,
      metadata: { name },
      status: { conditions: [{ ...condition, lastTransitionTime }] },
    };
    await allowing(api.apply(FLOW_SCHEMAS, applied, MANAGER, 'status'), 404);
  });

  schemas.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(object.metadata.name ?? '');
  });
  levels.onChange(({ type, object }) => {
    if (type === 'updated') return;
    for (const { metadata } of schemasOf(object.metadata.name ?? '')) work.add(metadata.name ?? '');
  });
}

/**
 * As in kube-apiserver, the status of each FlowSchema states whether its PriorityLevelConfiguration exists. FlowSchemas
 * do not limit any requests of this control plane.
 * @see kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol
 */
export const flowSchemas: Controller = { name: 'flowschema-status', setup };

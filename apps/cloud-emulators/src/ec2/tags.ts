import type { OperationFault } from '../faults/faults.ts';
import { instanceWithId, readsLag } from './actions.ts';
import { Ec2Error, entriesOf, listOf, type Params } from './params.ts';
import type { Ec2State } from './state.ts';
import type { Element } from './xml.ts';

const MOST_TAGS = 50;

/** Adds tags to instances, and replaces the values of tags with equal keys. */
export function createTags(cloud: Ec2State, params: Params, fault: OperationFault): readonly Element[] {
  const added = Object.fromEntries(entriesOf(params, 'Tag').map(({ Key = '', Value = '' }) => [Key, Value]));
  for (const each of listOf(params, 'ResourceId').map((id) => instanceWithId(cloud, id))) {
    const tags = { ...each.tags, ...added };
    if (Object.keys(tags).length > MOST_TAGS)
      throw new Ec2Error('TagLimitExceeded', 'The maximum number of Tags for a resource has been reached.');
    readsLag(cloud, each, fault);
    each.tags = tags;
    cloud.keep(each);
  }
  return [['return', true]];
}

/** Removes tags of instances. If the request contains only the key of a tag, the tag is removed with any value. */
export function deleteTags(cloud: Ec2State, params: Params, fault: OperationFault): readonly Element[] {
  const removed = entriesOf(params, 'Tag');
  for (const each of listOf(params, 'ResourceId').map((id) => instanceWithId(cloud, id))) {
    readsLag(cloud, each, fault);
    const stays = ([key, value]: [string, string]): boolean =>
      !removed.some(({ Key, Value }) => Key === key && (Value === undefined || Value === value));
    each.tags = Object.fromEntries(Object.entries(each.tags ?? {}).filter(stays));
    cloud.keep(each);
  }
  return [['return', true]];
}

import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import { defined, items, look, text } from '../../apimachinery/objects/plain.ts';
import { column } from './column.ts';

const WORDS = {
  name: 'Names of each container in the template.',
  image: 'Images referenced by each container in the template.',
} as const;

export const templateColumn = (
  name: string,
  field: 'name' | 'image',
  path: readonly string[],
  priority?: number,
): PrinterColumn =>
  column(
    name,
    (object) =>
      items(look(object, ...path, 'spec'), 'containers')
        .map((container) => text(container, field))
        .join(','),
    defined({ doc: WORDS[field], priority }),
  );

export const CONTAINERS = templateColumn('Containers', 'name', ['spec', 'template'], 1);
export const IMAGES = templateColumn('Images', 'image', ['spec', 'template'], 1);

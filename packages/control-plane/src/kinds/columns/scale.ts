import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import { fieldDoc } from '../../resources/docs.ts';
import { AGE, column, countAt, NAME } from './column.ts';

export const SCALE_COLUMNS: readonly PrinterColumn[] = [
  { ...NAME, format: '' },
  column('Desired', (scale) => countAt(scale, 'spec.replicas'), { type: 'integer', doc: ['V1ScaleSpec', 'replicas'] }),
  column('Available', (scale) => countAt(scale, 'status.replicas'), {
    type: 'integer',
    doc: ['V1ScaleStatus', 'replicas'],
  }),
  AGE,
];

export const CUSTOM_SCALE_COLUMNS: readonly PrinterColumn[] = [
  { name: 'Desired', type: 'integer', description: 'Number of desired replicas', jsonPath: '.spec.replicas' },
  { name: 'Available', type: 'integer', description: 'Number of actual replicas', jsonPath: '.status.replicas' },
  {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    get description(): string {
      return fieldDoc('V1ObjectMeta', 'creationTimestamp');
    },
  },
];

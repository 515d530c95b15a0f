import { isRecord } from '../../apimachinery/objects/json-value.ts';

export type Fields = Record<string, unknown>;

export const record = (value: unknown): Fields => (isRecord(value) ? value : {});
export const records = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
